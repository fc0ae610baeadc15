// One vector a request.
#include "cli/token_collector.h"

#include <fmt/format.h>

namespace servetwin {

void TokenCollector::take(const OutputToken& token) {
  const std::lock_guard lock(mutex_);
  std::vector<TokenId>& ids = outputs_[token.request];
  const auto index = static_cast<std::size_t>(token.index);
  if (ids.size() <= index) ids.resize(index + 1, -1);
  ids[index] = token.sampled.token;
}

std::string TokenCollector::text() const {
  std::string text;
  for (const auto& [request, ids] : outputs_) {
    text += fmt::format("{{\"request\":{},\"tokens\":[{}]}}\n", raw(request), fmt::join(ids, ","));
  }
  return text;
}

}  // namespace servetwin
