// A trie walked from every position; as many steps as the longest token has bytes.
#include "engine/models/tokenizer/added_tokens.h"

#include <algorithm>
#include <utf8proc.h>

#include "engine/base/check.h"
#include "engine/models/tokenizer/utf8.h"

namespace servetwin {
namespace {

std::uint64_t edge(std::uint32_t node, char byte) {
  return (std::uint64_t{node} << 8U) | static_cast<unsigned char>(byte);
}

// \w of Unicode: alphabetic, marks, decimal digits, connectors, joiners.
bool is_word_character(char32_t c) {
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_PC:
      return true;
    default:
      break;
  }
  const bool circled = (c >= 0x24B6 && c <= 0x24E9) || (c >= 0x1F130 && c <= 0x1F149) ||
                       (c >= 0x1F150 && c <= 0x1F169) || (c >= 0x1F170 && c <= 0x1F189);
  return circled || c == 0x200C || c == 0x200D;
}

// The start of the last character of valid UTF-8.
std::size_t last_character(std::string_view text) {
  std::size_t at = text.size() - 1;
  while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U) --at;
  return at;
}

bool ends_with_word(std::string_view text) {
  return !text.empty() && is_word_character(next_utf8(text.substr(last_character(text))).code_point);
}

bool starts_with_word(std::string_view text) {
  return !text.empty() && is_word_character(next_utf8(text).code_point);
}

std::size_t spaces_at_end(std::string_view text) {
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t at = last_character(rest);
    if (!is_white_space(next_utf8(rest.substr(at)).code_point)) break;
    rest = rest.substr(0, at);
  }
  return text.size() - rest.size();
}

std::size_t spaces_at_start(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const Utf8Step step = next_utf8(text.substr(at));
    if (!is_white_space(step.code_point)) break;
    at += step.length;
  }
  return at;
}

}  // namespace

void AddedTokenFinder::add(const AddedToken& token, std::string_view pattern) {
  CHECK_INVARIANT(!pattern.empty());
  std::uint32_t node = 0;
  for (const char byte : pattern) {
    const auto [child, is_new] = children_.insert(edge(node, byte), static_cast<std::uint32_t>(ends_.size()));
    node = *child;
    if (is_new) ends_.push_back(-1);
  }
  ends_[node] = static_cast<std::int32_t>(tokens_.size());
  tokens_.push_back(token);
}

AddedTokenFinder::Match AddedTokenFinder::longest_at(std::string_view text) const {
  Match best;
  std::uint32_t node = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::uint32_t* child = children_.find(edge(node, text[i]));
    if (child == nullptr) break;
    node = *child;
    if (ends_[node] >= 0) best = {i + 1, ends_[node]};
  }
  return best;
}

std::vector<TextSegment> AddedTokenFinder::split(std::string_view text, bool with_special) const {
  std::vector<TextSegment> segments;
  std::size_t done = 0;
  for (std::size_t at = 0; at < text.size() && !tokens_.empty();) {
    const Match match = longest_at(text.substr(at));
    if (match.token < 0) {
      ++at;
      continue;
    }
    std::size_t begin = at;
    std::size_t end = at + match.length;
    at = end;
    const AddedToken& token = tokens_[static_cast<std::size_t>(match.token)];
    if (token.special && !with_special) continue;
    const bool touched = ends_with_word(text.substr(0, begin)) || starts_with_word(text.substr(end));
    if (token.single_word && touched) continue;
    if (token.lstrip) begin -= spaces_at_end(text.substr(0, begin));
    if (token.rstrip) end += spaces_at_start(text.substr(end));
    if (begin > done) segments.push_back({text.substr(done, begin - done)});
    segments.push_back({text.substr(begin, end - begin), token.id});
    done = std::max(done, end);
  }
  if (done < text.size()) segments.push_back({text.substr(done)});
  return segments;
}

}  // namespace servetwin
