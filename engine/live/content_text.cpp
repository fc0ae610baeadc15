// Synthetic ids from Philox, with generated text laid over them.
#include "engine/live/content_text.h"

#include "engine/base/rng.h"

namespace servetwin {
namespace {

constexpr std::uint64_t kPrivateBit = 1ULL << 63;  // streams that no other request shares

}  // namespace

TextPlace generated_place(const RequestSpec& request) {
  if (request.continues_content && !request.content.empty()) {
    return {request.content.back().stream, request.content.back().length.value, true};
  }
  const std::int64_t offset = request.content.empty() ? request.prompt.value : 0;
  return {kPrivateBit | raw(request.id), offset, false};
}

TokenId ContentText::synthetic(std::uint64_t stream, std::int64_t offset) const {
  const std::uint64_t bits = draw_u64({seed_, Stream::kTokenIds, stream}, static_cast<std::uint32_t>(offset));
  return static_cast<TokenId>(bits % static_cast<std::uint64_t>(vocab_));
}

void ContentText::append(std::uint64_t stream, std::int64_t length, std::vector<TokenId>& tokens) const {
  const std::size_t begin = tokens.size();
  for (std::int64_t offset = 0; offset < length; ++offset) tokens.push_back(synthetic(stream, offset));
  const auto found = generated_.find(stream);
  if (found == generated_.end()) return;
  for (const auto& [offset, token] : found->second) {
    if (offset >= length) break;
    tokens[begin + static_cast<std::size_t>(offset)] = token;
  }
}

std::vector<TokenId> ContentText::prompt(const RequestSpec& request) const {
  const std::lock_guard lock(mutex_);
  std::vector<TokenId> tokens;
  for (const ContentSegment& segment : request.content) append(segment.stream, segment.length.value, tokens);
  if (request.content.empty()) append(kPrivateBit | raw(request.id), request.prompt.value, tokens);
  return tokens;
}

void ContentText::put_generated(std::uint64_t stream, std::int64_t offset, TokenId token) {
  const std::lock_guard lock(mutex_);
  generated_[stream][offset] = token;
}

}  // namespace servetwin
