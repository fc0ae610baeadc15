// Replacing, prepending, and composition by utf8proc.
#include "engine/models/tokenizer/normalizer.h"

#include <cstdlib>
#include <memory>
#include <utf8proc.h>
#include <utility>

#include "engine/base/check.h"

namespace servetwin {
namespace {

struct FreeUtf8 {
  void operator()(utf8proc_uint8_t* bytes) const { std::free(bytes); }
};

std::string composed(const std::string& text) {
  utf8proc_uint8_t* raw = nullptr;
  const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
  const utf8proc_option_t options = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE);
  const utf8proc_ssize_t length =
      utf8proc_map(bytes, static_cast<utf8proc_ssize_t>(text.size()), &raw, options);
  const std::unique_ptr<utf8proc_uint8_t, FreeUtf8> owned(raw);
  CHECK_INVARIANT(length >= 0, length);
  return {reinterpret_cast<const char*>(raw), static_cast<std::size_t>(length)};
}

struct ApplyNormalizer {
  std::string text;

  std::string operator()(const ReplaceText& step) const { return replaced(text, step); }
  std::string operator()(const PrependText& step) const { return text.empty() ? text : step.text + text; }
  std::string operator()(const ComposeText&) const { return composed(text); }
};

}  // namespace

std::string replaced(std::string_view text, const ReplaceText& what) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t found = text.find(what.from, at);
    out += text.substr(at, found - at);
    if (found == std::string_view::npos) break;
    out += what.to;
    at = found + what.from.size();
  }
  return out;
}

std::string normalized(const std::vector<NormalizerStep>& steps, std::string text) {
  for (const NormalizerStep& step : steps) text = std::visit(ApplyNormalizer{std::move(text)}, step);
  return text;
}

}  // namespace servetwin
