// Names of pre-tokenisers to their patterns, scores to ranks, types of tokens to added tokens.
#include "engine/models/tokenizer/vocab_data.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "engine/models/tokenizer/token_table.h"
#include "engine/models/tokenizer/tokenizer_error.h"
#include "engine/models/tokenizer/utf8.h"

namespace servetwin {
namespace {

constexpr std::string_view kLlama3Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|)"
    R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen2Pattern = R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|)"
                                           R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kDeepseek3Pattern =
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|)"
    R"( ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
// Han, Hiragana and Katakana.
constexpr std::string_view kDeepseek3Scripts =
    "[\xE4\xB8\x80-\xE9\xBE\xA5\xE3\x81\x80-\xE3\x82\x9F\xE3\x82\xA0-\xE3\x83\xBF]+";

struct PreRule {
  std::string_view name;
  std::array<std::string_view, 3> patterns;  // one after the other
  bool composes = false;
  bool ignore_merges = false;
  bool add_bos = false;
};

constexpr std::array<PreRule, 9> kPreRules{{
    {"gpt-2", {kGpt2Pattern}},
    {"gpt2", {kGpt2Pattern}},
    {"smollm", {R"(\p{N})", kGpt2Pattern}},
    {"llama-bpe", {kLlama3Pattern}, false, true, true},
    {"llama3", {kLlama3Pattern}, false, true, true},
    {"llama-v3", {kLlama3Pattern}, false, true, true},
    {"qwen2", {kQwen2Pattern}, true},
    {"deepseek-r1-qwen", {kQwen2Pattern}},
    {"deepseek-v3", {R"(\p{N}{1,3})", kDeepseek3Scripts, kDeepseek3Pattern}, false, false, true},
}};

const PreRule& pre_rule(const std::string& name, const TokenizerPlace& place) {
  for (const PreRule& rule : kPreRules) {
    if (rule.name == name) return rule;
  }
  refuse_tokenizer(place.at("tokenizer.ggml.pre"), "'" + name + "'");
}

std::vector<PreTokenizerStep> steps_of(const PreRule& rule, const TokenizerPlace& place) {
  std::vector<PreTokenizerStep> steps;
  for (const std::string_view pattern : rule.patterns) {
    if (pattern.empty()) continue;
    steps.emplace_back(SplitStep{Pattern(pattern, place), SplitBehavior::isolated, false});
  }
  return steps;
}

VocabTokenType type_of(const VocabData& data, std::size_t id) {
  return data.token_type.empty() ? VocabTokenType::normal : VocabTokenType{data.token_type[id]};
}

void check_sizes(const VocabData& data, const TokenizerPlace& place) {
  const std::size_t size = data.tokens.size();
  const TokenizerPlace tokens = place.at("tokenizer.ggml.tokens");
  if (size == 0 || size > kMaxVocabulary) reject_tokenizer(tokens, std::to_string(size) + " tokens");
  const bool types_fit = data.token_type.empty() || data.token_type.size() == size;
  if (!types_fit)
    reject_tokenizer(
        tokens, std::to_string(data.token_type.size()) + " types of " + std::to_string(size) + " tokens");
  for (const std::int32_t type : data.token_type) {
    if (type < 1 || type > 6) refuse_tokenizer(tokens, "token type " + std::to_string(type));
  }
  for (const std::optional<TokenId>& id : {data.bos, data.eos, data.unknown}) {
    const bool known = !id || (*id >= 0 && static_cast<std::size_t>(*id) < size);
    if (!known) reject_tokenizer(tokens, "no token " + std::to_string(*id));
  }
}

TokenIndex index_of(const VocabData& data, const TokenizerPlace& place) {
  TokenIndex index;
  index.reserve(data.tokens.size());
  for (std::size_t id = 0; id < data.tokens.size(); ++id) {
    const bool fresh = index.emplace(data.tokens[id], static_cast<TokenId>(id)).second;
    if (!fresh) reject_tokenizer(place.at("tokenizer.ggml.tokens"), "'" + data.tokens[id] + "' comes twice");
  }
  return index;
}

std::vector<MergeTexts> split_merges(const VocabData& data, const TokenizerPlace& place) {
  std::vector<MergeTexts> merges;
  merges.reserve(data.merges.size());
  for (const std::string& text : data.merges) {
    const std::size_t space = text.find(' ', 1);
    if (space == std::string::npos)
      reject_tokenizer(place.at("tokenizer.ggml.merges"), "'" + text + "' is no pair");
    merges.push_back({text.substr(0, space), text.substr(space + 1)});
  }
  return merges;
}

// SentencePiece merges any two neighbours whose joined text is a token, the best score first. Scores become
// ranks; equal scores keep one rank, so that the leftmost of them goes first.
std::vector<std::uint32_t> ranks_of(const VocabData& data, const TokenizerPlace& place) {
  if (data.scores.size() != data.tokens.size()) {
    reject_tokenizer(place.at("tokenizer.ggml.scores"), std::to_string(data.scores.size()) + " scores of " +
                                                            std::to_string(data.tokens.size()) + " tokens");
  }
  std::vector<float> sorted;
  for (const float score : data.scores) {
    if (std::isnan(score)) reject_tokenizer(place.at("tokenizer.ggml.scores"), "a score is not a number");
    sorted.push_back(-score);
  }
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  std::vector<std::uint32_t> ranks;
  for (const float score : data.scores) {
    const auto at = std::lower_bound(sorted.begin(), sorted.end(), -score);
    ranks.push_back(static_cast<std::uint32_t>(at - sorted.begin()));
  }
  return ranks;
}

bool takes_part(VocabTokenType type) {
  return type == VocabTokenType::normal || type == VocabTokenType::user_defined ||
         type == VocabTokenType::unused;
}

std::vector<BpeMerge> merges_by_score(const VocabData& data,
                                      const TokenIndex& index,
                                      const TokenizerPlace& place) {
  const std::vector<std::uint32_t> ranks = ranks_of(data, place);
  std::vector<BpeMerge> merges;
  for (std::size_t id = 0; id < data.tokens.size(); ++id) {
    if (!takes_part(type_of(data, id))) continue;
    const std::string& text = data.tokens[id];
    for (std::size_t cut = 1; cut < text.size(); ++cut) {
      const auto left = index.find(text.substr(0, cut));
      if (left == index.end()) continue;
      const auto right = index.find(text.substr(cut));
      if (right == index.end()) continue;
      merges.push_back({left->second, right->second, static_cast<TokenId>(id), ranks[id]});
    }
  }
  return merges;
}

void add_tokens(const VocabData& data, TokenizerParts& parts) {
  for (std::size_t id = 0; id < data.tokens.size(); ++id) {
    const VocabTokenType type = type_of(data, id);
    const bool special = type == VocabTokenType::control || type == VocabTokenType::unknown;
    if ((!special && type != VocabTokenType::user_defined) || data.tokens[id].empty()) continue;
    AddedToken token;
    token.id = static_cast<TokenId>(id);
    token.content = data.tokens[id];
    token.special = special;
    add_token(parts, token);
  }
}

void frame(const VocabData& data, bool family_adds_bos, const TokenizerPlace& place, TokenizerParts& parts) {
  parts.bos = data.bos;
  parts.eos = data.eos;
  const bool adds_bos = data.add_bos.value_or(family_adds_bos);
  const bool adds_eos = data.add_eos.value_or(false);
  if (adds_bos && !data.bos)
    reject_tokenizer(place.at("tokenizer.ggml.bos_token_id"), "is missing but is to be added");
  if (adds_eos && !data.eos)
    reject_tokenizer(place.at("tokenizer.ggml.eos_token_id"), "is missing but is to be added");
  if (adds_bos) parts.prefix.push_back(*data.bos);
  if (adds_eos) parts.suffix.push_back(*data.eos);
}

Tokenizer byte_level(const VocabData& data, const TokenIndex& index, const TokenizerPlace& place) {
  const PreRule& rule = pre_rule(data.pre, place);
  TokenizerParts parts;
  if (rule.composes) parts.normalizer.emplace_back(ComposeText{});
  std::vector<PreTokenizerStep> steps = steps_of(rule, place.at("tokenizer.ggml.pre"));
  if (data.add_space_prefix.value_or(false)) steps.insert(steps.begin(), PrefixSpaceStep{});
  parts.pre_tokenizer = PreTokenizer(std::move(steps));
  BpeOptions options;
  options.bytes = true;
  options.ignore_merges = rule.ignore_merges;
  parts.model =
      BpeModel(words_of(data.tokens, Alphabet::bytes),
               merges_of(split_merges(data, place), index, place.at("tokenizer.ggml.merges")), options);
  parts.texts = data.tokens;
  parts.pieces = pieces_of(data.tokens, {Alphabet::bytes, false, {}});
  add_tokens(data, parts);
  frame(data, rule.add_bos, place, parts);
  return Tokenizer(std::move(parts));
}

Tokenizer sentence_piece(const VocabData& data, const TokenIndex& index, const TokenizerPlace& place) {
  TokenizerParts parts;
  const bool prefixes = data.add_space_prefix.value_or(true);
  if (prefixes) parts.normalizer.emplace_back(PrependText{std::string(kMetaspace)});
  parts.normalizer.emplace_back(ReplaceText{" ", std::string(kMetaspace)});
  BpeOptions options;
  options.fuse_unknown = true;
  options.unknown = data.unknown.value_or(kNoToken);
  set_fallback(options, index, Alphabet::text, place);
  std::vector<std::string> words = data.tokens;
  for (std::size_t id = 0; id < words.size(); ++id) {
    if (!takes_part(type_of(data, id))) words[id].clear();
  }
  parts.model = BpeModel(words, merges_by_score(data, index, place), options);
  parts.texts = data.tokens;
  parts.pieces = pieces_of(data.tokens, {Alphabet::text, true, {{std::string(kMetaspace), " "}}});
  parts.strip_first_space = prefixes;
  add_tokens(data, parts);
  frame(data, true, place, parts);
  return Tokenizer(std::move(parts));
}

}  // namespace

Tokenizer make_tokenizer(const VocabData& data, const std::string& file) {
  const TokenizerPlace place{file, ""};
  check_sizes(data, place);
  const TokenIndex index = index_of(data, place);
  if (data.model == "gpt2") return byte_level(data, index, place);
  if (data.model == "llama") return sentence_piece(data, index, place);
  refuse_tokenizer(place.at("tokenizer.ggml.model"), "'" + data.model + "'");
}

}  // namespace servetwin
