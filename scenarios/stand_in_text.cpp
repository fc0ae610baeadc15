// Tokens of a prompt are words for a digest; a full block ends a segment that is named by all before it.
#include "scenarios/stand_in_text.h"

#include <algorithm>
#include <array>

#include "engine/base/digest.h"
#include "engine/base/rng.h"

namespace servetwin {
namespace {

constexpr std::size_t kBytesPerToken = 4;
constexpr std::uint64_t kStreamMask = (std::uint64_t{1} << 62) - 1;
constexpr std::uint64_t kIsTokenId = std::uint64_t{1} << 40;

constexpr std::array<const char*, 32> kWords = {
    "the",   "river", "and",  "a",    "small", "light", "over",  "stone", "we",    "walk",  "under",
    "green", "trees", "with", "slow", "water", "in",    "early", "air",   "they",  "carry", "warm",
    "bread", "to",    "old",  "town", "where", "bells", "ring",  "near",  "quiet", "hills"};

class PromptBuilder {
 public:
  explicit PromptBuilder(Tokens block_size) : block_size_(block_size.value) {}

  void add(std::uint64_t token) {
    digest_.add(token);
    ++prompt_.length.value;
    if (prompt_.length.value % block_size_ == 0) close_segment(block_size_);
  }

  Prompt finish() {
    const std::int64_t rest = prompt_.length.value % block_size_;
    if (rest > 0) close_segment(rest);
    prompt_.fingerprint = digest_.value();
    return std::move(prompt_);
  }

 private:
  void close_segment(std::int64_t length) {
    prompt_.content.push_back({digest_.value() & kStreamMask, Tokens{length}});
  }

  std::int64_t block_size_;
  Digest digest_;
  Prompt prompt_;
};

std::string rendered(const std::vector<ChatMessage>& messages) {
  std::string text;
  for (const ChatMessage& message : messages)
    text += "<|" + message.role + "|>" + message.content + "<|end|>";
  return text + "<|assistant|>";
}

struct Adder {
  PromptBuilder& builder;

  void operator()(const std::vector<ChatMessage>& messages) const { (*this)(rendered(messages)); }
  void operator()(const std::string& text) const {
    for (std::size_t at = 0; at < text.size(); at += kBytesPerToken) {
      std::uint64_t word = 1;
      for (std::size_t i = at; i < std::min(at + kBytesPerToken, text.size()); ++i) {
        word = (word << 8U) | static_cast<unsigned char>(text[i]);
      }
      builder.add(word);
    }
  }
  void operator()(const std::vector<TokenId>& tokens) const {
    for (const TokenId token : tokens) builder.add(kIsTokenId | static_cast<std::uint64_t>(token));
  }
};

}  // namespace

Prompt stand_in_prompt(const PromptInput& input, Tokens block_size) {
  PromptBuilder builder(block_size);
  std::visit(Adder{builder}, input);
  return builder.finish();
}

std::string stand_in_piece(std::uint64_t answer, std::int64_t index) {
  const std::uint64_t drawn = draw_u64({answer, Stream::kTokenIds, 0}, static_cast<std::uint32_t>(index));
  return (index == 0 ? "" : " ") + std::string(kWords[drawn % kWords.size()]);
}

}  // namespace servetwin
