// Looks where each format keeps tokenizer, template and ends.
#include "engine/live/model_text.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "engine/base/check.h"
#include "engine/base/error.h"
#include "engine/models/tokenizer/byte_alphabet.h"
#include "engine/models/tokenizer/tokenizer_error.h"
#include "engine/models/tokenizer/tokenizer_json.h"
#include "engine/models/tokenizer/utf8.h"
#include "engine/models/tokenizer/vocab_data.h"

namespace servetwin {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kPlainTemplate =
    "{% for message in messages %}<|{{ message.role }}|>{{ message.content }}<|end|>{% endfor "
    "%}<|assistant|>";

std::optional<std::string> text_of_file(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) return std::nullopt;
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

Json json_of_file(const fs::path& file) {
  const std::optional<std::string> text = text_of_file(file);
  if (!text) return Json::object();
  Json json = Json::parse(*text, nullptr, false);
  if (!json.is_object()) reject_tokenizer({file.string(), ""}, "is no JSON object");
  return json;
}

// One template, or several by name, of which "default" is the one for plain conversations.
std::optional<ChatTemplate> configured_template(const fs::path& folder) {
  const fs::path own = folder / "chat_template.jinja";
  if (const auto text = text_of_file(own)) return ChatTemplate(*text, own.string());
  const fs::path config = folder / "tokenizer_config.json";
  const Json json = json_of_file(config);
  if (!json.contains("chat_template")) return std::nullopt;
  const Json& found = json["chat_template"];
  const std::string place = config.string() + ", chat_template";
  if (found.is_string()) return ChatTemplate(found.get<std::string>(), place);
  for (const Json& one : found) {
    if (!one.is_object() || one.value("name", Json()) != "default") continue;
    if (one.value("template", Json()).is_string()) {
      return ChatTemplate(one["template"].get<std::string>(), place);
    }
  }
  return std::nullopt;
}

std::vector<TokenId> configured_ends(const fs::path& folder, const Tokenizer& tokenizer) {
  const fs::path file = folder / "generation_config.json";
  Json ends = json_of_file(file).value("eos_token_id", Json());
  if (ends.is_number_integer()) ends = Json::array({ends});
  std::vector<TokenId> ids;
  for (const Json& end : ends) {
    if (!end.is_number_integer() || end < 0 || end >= tokenizer.vocab_size()) {
      reject_tokenizer({file.string(), "eos_token_id"}, end.dump() + " is no token");
    }
    ids.push_back(end.get<TokenId>());
  }
  if (ids.empty() && tokenizer.eos()) ids.push_back(*tokenizer.eos());
  return ids;
}

std::optional<TokenId> token_id(const GgufMetadata& metadata, const std::string& key) {
  const auto id = metadata.integer("tokenizer.ggml." + key);
  if (!id) return std::nullopt;
  const auto* tokens = metadata.texts("tokenizer.ggml.tokens");
  if (tokens == nullptr || *id < 0 || *id >= static_cast<std::int64_t>(tokens->size())) {
    reject_tokenizer({metadata.file(), "tokenizer.ggml." + key}, std::to_string(*id) + " is no token");
  }
  return static_cast<TokenId>(*id);
}

template <class T>
T value_or_empty(const T* value) {
  return value != nullptr ? *value : T();
}

VocabData vocab_of(const GgufMetadata& metadata) {
  const std::string prefix = "tokenizer.ggml.";
  VocabData data;
  data.model = value_or_empty(metadata.text(prefix + "model"));
  data.pre = value_or_empty(metadata.text(prefix + "pre"));
  data.tokens = value_or_empty(metadata.texts(prefix + "tokens"));
  for (const double score : value_or_empty(metadata.numbers(prefix + "scores"))) {
    data.scores.push_back(static_cast<float>(score));
  }
  for (const std::int64_t type : value_or_empty(metadata.integers(prefix + "token_type"))) {
    data.token_type.push_back(static_cast<std::int32_t>(std::clamp<std::int64_t>(type, -1, 1000)));
  }
  data.merges = value_or_empty(metadata.texts(prefix + "merges"));
  data.bos = token_id(metadata, "bos_token_id");
  data.eos = token_id(metadata, "eos_token_id");
  data.unknown = token_id(metadata, "unknown_token_id");
  data.add_bos = metadata.flag(prefix + "add_bos_token");
  data.add_eos = metadata.flag(prefix + "add_eos_token");
  data.add_space_prefix = metadata.flag(prefix + "add_space_prefix");
  return data;
}

void add_ends(const std::optional<TokenId>& end, std::vector<TokenId>& ends) {
  if (end && std::find(ends.begin(), ends.end(), *end) == ends.end()) ends.push_back(*end);
}

}  // namespace

std::string ModelText::prompt_of(const std::vector<TemplateMessage>& messages) const {
  CHECK_INVARIANT(has_chat());
  Json variables{{"messages", Json::array()}, {"add_generation_prompt", true}};
  for (const TemplateMessage& message : messages) {
    variables["messages"].push_back({{"role", message.role}, {"content", message.content}});
  }
  const auto name = [&](const char* variable, const std::optional<TokenId>& token) {
    if (token) variables[variable] = std::string(tokenizer_.text_of(*token));
  };
  name("bos_token", tokenizer_.bos());
  name("eos_token", tokenizer_.eos());
  return chat_->render(variables.dump(-1, ' ', false, Json::error_handler_t::replace));
}

ModelText read_model_text(const std::string& folder) {
  Tokenizer tokenizer = read_tokenizer_folder(folder);
  std::vector<TokenId> ends = configured_ends(folder, tokenizer);
  return {std::move(tokenizer), configured_template(folder), std::move(ends)};
}

ModelText gguf_model_text(const GgufMetadata& metadata) {
  Tokenizer tokenizer = make_tokenizer(vocab_of(metadata), metadata.file());
  std::optional<ChatTemplate> chat;
  if (const std::string* source = metadata.text("tokenizer.chat_template")) {
    chat.emplace(*source, metadata.file() + ", tokenizer.chat_template");
  }
  std::vector<TokenId> ends;
  add_ends(tokenizer.eos(), ends);
  add_ends(token_id(metadata, "eot_token_id"), ends);
  return {std::move(tokenizer), std::move(chat), std::move(ends)};
}

ModelText byte_model_text() {
  VocabData data;
  data.model = "gpt2";
  data.pre = "gpt-2";
  for (int byte = 0; byte < 256; ++byte) {
    append_utf8(data.tokens.emplace_back(), letter_of_byte(static_cast<unsigned char>(byte)));
  }
  const std::string name = "the tokenizer of bytes";
  return {make_tokenizer(data, name), ChatTemplate(kPlainTemplate, name), {}};
}

}  // namespace servetwin
