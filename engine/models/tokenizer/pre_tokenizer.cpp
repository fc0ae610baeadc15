// Each step cuts the words of the step before; a step that changes text writes it anew.
#include "engine/models/tokenizer/pre_tokenizer.h"

#include <utility>

namespace servetwin {
namespace {

struct Part {
  TextRange range;
  bool matches = false;
};

std::optional<TextRange> find_delimiter(const SplitStep& step, std::string_view text, std::size_t from) {
  if (const Pattern* pattern = std::get_if<Pattern>(&step.delimiter)) return pattern->find(text, from);
  const std::string& plain = std::get<std::string>(step.delimiter);
  const std::size_t at = text.find(plain, from);
  if (at == std::string_view::npos) return std::nullopt;
  return TextRange{at, at + plain.size()};
}

// Matches and what is between them; together they are the word.
std::vector<Part> parts_of(const SplitStep& step, std::string_view word) {
  std::vector<Part> parts;
  std::size_t at = 0;
  while (at < word.size()) {
    const std::optional<TextRange> match = find_delimiter(step, word, at);
    const std::size_t gap_end = match ? match->begin : word.size();
    if (gap_end > at) parts.push_back({{at, gap_end}, step.invert});
    if (match) parts.push_back({*match, !step.invert});
    at = match ? match->end : word.size();
  }
  return parts;
}

void apply_behavior(SplitBehavior behavior, const std::vector<Part>& parts, std::vector<TextRange>& out) {
  bool previous_matches = false;
  bool joins = false;  // the last range still takes what follows
  for (const Part& part : parts) {
    const bool to_previous =
        behavior == SplitBehavior::merged_with_previous && part.matches && !previous_matches && joins;
    const bool to_next = behavior == SplitBehavior::merged_with_next && !part.matches && previous_matches;
    if (to_previous || to_next) {
      out.back().end = part.range.end;
    } else if (behavior != SplitBehavior::removed || !part.matches) {
      out.push_back(part.range);
    }
    previous_matches = part.matches;
    joins = true;
  }
}

void split_words(const SplitStep& step, Words& words) {
  std::vector<TextRange> finer;
  std::vector<TextRange> local;
  for (std::size_t i = 0; i < words.ranges.size(); ++i) {
    local.clear();
    apply_behavior(step.behavior, parts_of(step, words.word(i)), local);
    const std::size_t base = words.ranges[i].begin;
    for (const TextRange& range : local) finer.push_back({base + range.begin, base + range.end});
  }
  words.ranges = std::move(finer);
}

// Writes each word anew through `rewrite(word, is_first)`.
template <class Rewrite>
void rewrite_words(Words& words, Rewrite rewrite) {
  Words out;
  for (std::size_t i = 0; i < words.ranges.size(); ++i) {
    const std::size_t begin = out.text.size();
    out.text += rewrite(words.word(i), i == 0);
    out.ranges.push_back({begin, out.text.size()});
  }
  words = std::move(out);
}

std::string with_replaced_spaces(std::string_view word, const std::string& replacement) {
  std::string out;
  for (const char c : word) {
    if (c == ' ') {
      out += replacement;
    } else {
      out += c;
    }
  }
  return out;
}

struct ApplyPreTokenizer {
  Words& words;
  bool at_start;

  void operator()(const SplitStep& step) const { split_words(step, words); }

  void operator()(const PrefixSpaceStep&) const {
    rewrite_words(words, [](std::string_view word, bool) {
      return word.starts_with(' ') ? std::string(word) : " " + std::string(word);
    });
  }

  void operator()(const MetaspaceStep& step) const {
    rewrite_words(words, [&](std::string_view word, bool is_first) {
      const bool wanted = step.prepend == MetaspaceStep::Prepend::always ||
                          (step.prepend == MetaspaceStep::Prepend::first && is_first && at_start);
      std::string out = with_replaced_spaces(word, step.replacement);
      return wanted && !out.starts_with(step.replacement) ? step.replacement + out : out;
    });
    if (step.split) split_words({step.replacement, SplitBehavior::merged_with_next, false}, words);
  }
};

}  // namespace

Words PreTokenizer::split(std::string text, bool at_start) const {
  Words words;
  words.text = std::move(text);
  if (words.text.empty()) return words;
  words.ranges.push_back({0, words.text.size()});
  for (const PreTokenizerStep& step : steps_) std::visit(ApplyPreTokenizer{words, at_start}, step);
  return words;
}

}  // namespace servetwin
