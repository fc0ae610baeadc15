// Bodies of /v1/completions and /v1/chat/completions.
#include "calibrate/endpoint/dialect.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/base/rng.h"

namespace servetwin {
namespace {

using OrderedJson = nlohmann::ordered_json;

// Ids that vocabularies have and that are no special tokens in those of common models.
constexpr std::uint64_t kFirstId = 1000;
constexpr std::uint64_t kIds = 8000;

class Words {
 public:
  Words(std::uint64_t salt, std::uint64_t number) : key_{salt, Stream::kTokenIds, number} {}

  std::uint64_t id() { return kFirstId + draw() % kIds; }
  // Two syllables, such as "kota".
  std::string word() {
    constexpr std::string_view kConsonants = "bdfgklmnprstvz";
    constexpr std::string_view kVowels = "aeiou";
    std::uint64_t bits = draw();
    std::string text;
    for (int i = 0; i < 2; ++i) {
      text += kConsonants[bits % kConsonants.size()];
      bits /= kConsonants.size();
      text += kVowels[bits % kVowels.size()];
      bits /= kVowels.size();
    }
    return text;
  }

 private:
  std::uint64_t draw() { return draw_u64(key_, next_++); }

  StreamKey key_;
  std::uint32_t next_ = 0;
};

std::string text_of(std::int64_t count, Words words) {
  std::string text;
  for (std::int64_t i = 0; i < count; ++i) text += (i > 0 ? " " : "") + words.word();
  return text;
}

}  // namespace

const char* to_string(PromptForm form) {
  switch (form) {
    case PromptForm::kTokenIds:
      return "token ids";
    case PromptForm::kText:
      return "texts";
    case PromptForm::kChat:
      return "conversations";
  }
  return "";
}

std::string path_of(const Dialect& dialect) {
  return dialect.form == PromptForm::kChat ? "/v1/chat/completions" : "/v1/completions";
}

std::int64_t words_for(const Dialect& dialect, std::int64_t prompt_tokens) {
  const double words = (static_cast<double>(prompt_tokens) - dialect.words_base) / dialect.tokens_per_word;
  return std::max<std::int64_t>(1, std::llround(words));
}

std::string body_of(const Dialect& dialect,
                    std::int64_t prompt_tokens,
                    std::int64_t output_tokens,
                    std::uint64_t salt,
                    std::uint64_t number) {
  OrderedJson body{{"model", dialect.model}};
  Words words(salt, number);
  if (dialect.form == PromptForm::kTokenIds) {
    OrderedJson ids = OrderedJson::array();
    for (std::int64_t i = 0; i < prompt_tokens; ++i) ids.push_back(words.id());
    body["prompt"] = std::move(ids);
  } else {
    const std::string text = text_of(words_for(dialect, prompt_tokens), words);
    if (dialect.form == PromptForm::kText) {
      body["prompt"] = text;
    } else {
      body["messages"] = OrderedJson::array({OrderedJson{{"role", "user"}, {"content", text}}});
    }
  }
  body["max_tokens"] = output_tokens;
  body["temperature"] = 0;
  body["stream"] = true;
  if (dialect.ignores_eos) body["ignore_eos"] = true;
  if (dialect.counts) {
    body["stream_options"] = {{"include_usage", true}};
    if (dialect.counts_each_event) body["stream_options"]["continuous_usage_stats"] = true;
  }
  return body.dump();
}

}  // namespace servetwin
