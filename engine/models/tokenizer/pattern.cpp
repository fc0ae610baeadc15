// The PCRE2 side: UTF-8 with Unicode properties, just-in-time compiled where the machine can, with limits.
#include "engine/models/tokenizer/pattern.h"

#include <array>
#include <cstdint>
#include <pcre2.h>

#include "engine/base/check.h"
#include "engine/base/error.h"
#include "engine/base/params.h"

namespace servetwin {
namespace {

constexpr std::uint32_t kMatchLimit = 100'000'000;
constexpr std::uint32_t kMaxHeapKib = 256U << 10U;
constexpr std::size_t kMaxPatternBytes = 16U << 10U;

std::string message_of(int code) {
  std::array<PCRE2_UCHAR, 256> buffer{};
  const int length = pcre2_get_error_message(code, buffer.data(), buffer.size());
  return {buffer.begin(), buffer.begin() + (length < 0 ? 0 : length)};
}

PCRE2_SPTR units(std::string_view text) { return reinterpret_cast<PCRE2_SPTR>(text.data()); }

}  // namespace

struct Pattern::Compiled {
  struct Free {
    void operator()(pcre2_code* it) const { pcre2_code_free(it); }
    void operator()(pcre2_match_context* it) const { pcre2_match_context_free(it); }
    void operator()(pcre2_match_data* it) const { pcre2_match_data_free(it); }
  };

  std::unique_ptr<pcre2_code, Free> code;
  std::unique_ptr<pcre2_match_context, Free> context;
};

Pattern::Pattern(std::string_view pattern, const TokenizerPlace& place)
    : compiled_(std::make_unique<Compiled>()), place_(place) {
  if (pattern.size() > kMaxPatternBytes) reject_tokenizer(place, "the regular expression is too long");
  const std::string text = pcre2_pattern(pattern, place);
  int error = 0;
  PCRE2_SIZE offset = 0;
  const std::uint32_t options = PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C;
  compiled_->code.reset(pcre2_compile(units(text), text.size(), options, &error, &offset, nullptr));
  if (!compiled_->code) reject_tokenizer(place, "the regular expression is wrong: " + message_of(error));
  std::uint32_t matches_empty = 0;
  pcre2_pattern_info(compiled_->code.get(), PCRE2_INFO_MATCHEMPTY, &matches_empty);
  if (matches_empty != 0) refuse_tokenizer(place, "a regular expression that can match nothing");
  compiled_->context.reset(pcre2_match_context_create(nullptr));
  CHECK_INVARIANT(compiled_->context != nullptr);
  pcre2_set_match_limit(compiled_->context.get(), kMatchLimit);
  pcre2_set_heap_limit(compiled_->context.get(), kMaxHeapKib);
  pcre2_jit_compile(compiled_->code.get(), PCRE2_JIT_COMPLETE);  // without it the interpreter does the same
}

Pattern::Pattern(Pattern&&) noexcept = default;
Pattern& Pattern::operator=(Pattern&&) noexcept = default;
Pattern::~Pattern() = default;

std::optional<TextRange> Pattern::find(std::string_view text, std::size_t from) const {
  const std::unique_ptr<pcre2_match_data, Compiled::Free> data(pcre2_match_data_create(1, nullptr));
  CHECK_INVARIANT(data != nullptr);
  const auto match = [&](std::uint32_t options) {
    return pcre2_match(compiled_->code.get(), units(text), text.size(), from, PCRE2_NO_UTF_CHECK | options,
                       data.get(), compiled_->context.get());
  };
  int result = match(0);
  if (result == PCRE2_ERROR_JIT_STACKLIMIT) result = match(PCRE2_NO_JIT);
  if (result == PCRE2_ERROR_NOMATCH) return std::nullopt;
  if (result < 0) {
    throw ConfigError(Problem{kCodeOutOfRange, SourcePlace{place_.file, 0, 0}, place_.path,
                              "the text takes too long to split: " + message_of(result), "a shorter text"});
  }
  const PCRE2_SIZE* range = pcre2_get_ovector_pointer(data.get());
  return TextRange{range[0], range[1]};
}

}  // namespace servetwin
