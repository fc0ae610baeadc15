// The file as a whole: vocabulary, merges, added tokens, and how the steps of its lists fit together.
#include "engine/models/tokenizer/tokenizer_json.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

#include "engine/base/error.h"
#include "engine/models/tokenizer/json_reader.h"
#include "engine/models/tokenizer/token_table.h"
#include "engine/models/tokenizer/tokenizer_steps.h"

namespace servetwin {
namespace {

constexpr std::uintmax_t kMaxFileBytes = 256U << 20U;

TokenId read_id(const JsonReader& value) {
  const std::int64_t id = value.integer();
  if (id >= static_cast<std::int64_t>(kMaxVocabulary)) reject_tokenizer(value.place(), "is too large an id");
  return static_cast<TokenId>(id);
}

void set_text(std::vector<std::string>& texts,
              TokenId id,
              const std::string& text,
              const TokenizerPlace& place) {
  const std::size_t at = static_cast<std::size_t>(id);
  if (at >= texts.size()) texts.resize(at + 1);
  const bool taken = !texts[at].empty() && texts[at] != text;
  if (taken)
    reject_tokenizer(place, "id " + std::to_string(id) + " is both '" + texts[at] + "' and '" + text + "'");
  texts[at] = text;
}

TokenIndex read_vocabulary(const JsonReader& model, std::vector<std::string>& texts) {
  const JsonReader vocabulary = model.at("vocab");
  TokenIndex index;
  for (const std::string& token : vocabulary.keys()) {
    const TokenId id = read_id(vocabulary.at(token));
    if (token.empty()) reject_tokenizer(vocabulary.place(), "has an empty token");
    set_text(texts, id, token, vocabulary.place());
    index.emplace(token, id);
  }
  return index;
}

// "a b" in older files, ["a", "b"] in newer ones.
std::vector<MergeTexts> read_merges(const JsonReader& model) {
  std::vector<MergeTexts> merges;
  for (const JsonReader& merge : model.items("merges")) {
    if (merge.is_text()) {
      const std::string text = merge.text();
      const std::size_t space = text.find(' ');
      if (space == std::string::npos || text.find(' ', space + 1) != std::string::npos) {
        reject_tokenizer(merge.place(), "'" + text + "' is no pair");
      }
      merges.push_back({text.substr(0, space), text.substr(space + 1)});
    } else {
      const std::vector<JsonReader> pair = merge.items();
      if (pair.size() != 2) reject_tokenizer(merge.place(), "is no pair");
      merges.push_back({pair[0].text(), pair[1].text()});
    }
  }
  return merges;
}

void refuse_affix(const JsonReader& model, const std::string& key) {
  if (model.has(key) && !model.text(key).empty()) refuse_tokenizer(model.place().at(key), "a subword affix");
}

BpeModel read_model(const JsonReader& file, Alphabet alphabet, TokenizerParts& parts) {
  const JsonReader model = file.at("model");
  model.only({"type", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk",
              "byte_fallback", "ignore_merges", "vocab", "merges"});
  if (model.has("type") && model.type() != "BPE")
    refuse_tokenizer(model.place(), "type '" + model.type() + "'");
  if (model.has("dropout")) refuse_tokenizer(model.place().at("dropout"), "dropout");
  refuse_affix(model, "continuing_subword_prefix");
  refuse_affix(model, "end_of_word_suffix");
  const TokenIndex index = read_vocabulary(model, parts.texts);
  BpeOptions options;
  options.bytes = alphabet == Alphabet::bytes;
  options.ignore_merges = model.flag("ignore_merges", false);
  options.fuse_unknown = model.flag("fuse_unk", false);
  if (model.flag("byte_fallback", false)) set_fallback(options, index, alphabet, model.place());
  if (model.has("unk_token")) {
    const auto unknown = index.find(model.text("unk_token"));
    if (unknown == index.end()) reject_tokenizer(model.place().at("unk_token"), "is no token");
    options.unknown = unknown->second;
  }
  const std::vector<BpeMerge> merges = merges_of(read_merges(model), index, model.place().at("merges"));
  return BpeModel(words_of(parts.texts, alphabet), merges, options);
}

AddedToken read_added(const JsonReader& item) {
  item.only({"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"});
  AddedToken token;
  token.id = read_id(item.at("id"));
  token.content = item.text("content");
  if (token.content.empty()) reject_tokenizer(item.place(), "has no content");
  token.special = item.flag("special", false);
  token.single_word = item.flag("single_word", false);
  token.lstrip = item.flag("lstrip", false);
  token.rstrip = item.flag("rstrip", false);
  token.normalized = item.flag("normalized", !token.special);
  return token;
}

std::string read_file(const std::filesystem::path& path) {
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (error) reject_tokenizer({path.string(), ""}, "cannot be read");
  if (size > kMaxFileBytes) reject_tokenizer({path.string(), ""}, "is larger than 256 MiB");
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// "<s>", or an object with that as its content.
std::optional<TokenId> named_token(const JsonReader& config,
                                   const std::string& key,
                                   const Tokenizer& tokenizer) {
  if (!config.has(key)) return std::nullopt;
  const JsonReader token = config.at(key);
  const std::string text = token.is_object() ? token.text("content") : token.text();
  const std::optional<TokenId> id = tokenizer.find(text);
  if (!id) reject_tokenizer(token.place(), "'" + text + "' is no token");
  return id;
}

}  // namespace

Tokenizer parse_tokenizer_json(const std::string& text, const std::string& name) {
  const JsonFile json(text, name);
  const JsonReader file = json.root();
  for (const char* key : {"truncation", "padding"}) {
    if (file.has(key)) refuse_tokenizer(file.place(), std::string(key));
  }
  TokenizerParts parts;
  parts.normalizer = read_normalizer(file);
  PreTokenizerSteps pre = read_pre_tokenizer(file);
  const Decoder decoder = read_decoder(file);
  if (decoder.rules.alphabet != pre.alphabet) {
    refuse_tokenizer(file.place(), "ByteLevel in only one of pre_tokenizer and decoder");
  }
  parts.model = read_model(file, pre.alphabet, parts);
  parts.pre_tokenizer = PreTokenizer(std::move(pre.steps));
  std::vector<AddedToken> added;
  if (file.has("added_tokens")) {
    for (const JsonReader& item : file.items("added_tokens")) {
      added.push_back(read_added(item));
      set_text(parts.texts, added.back().id, added.back().content, item.place());
    }
  }
  parts.pieces = pieces_of(parts.texts, decoder.rules);
  for (const AddedToken& token : added) add_token(parts, token);
  parts.strip_first_space = decoder.strip_first_space;
  Frame frame = read_post_processor(file);
  for (const std::vector<TokenId>* ids : {&frame.prefix, &frame.suffix}) {
    for (const TokenId id : *ids) {
      const bool known = static_cast<std::size_t>(id) < parts.texts.size();
      if (!known) reject_tokenizer(file.place().at("post_processor"), std::to_string(id) + " is no token");
    }
  }
  parts.prefix = std::move(frame.prefix);
  parts.suffix = std::move(frame.suffix);
  return Tokenizer(std::move(parts));
}

Tokenizer read_tokenizer_folder(const std::string& folder) {
  const std::filesystem::path path(folder);
  const std::string file = (path / "tokenizer.json").string();
  Tokenizer tokenizer = parse_tokenizer_json(read_file(file), file);
  const std::filesystem::path config_path = path / "tokenizer_config.json";
  if (!std::filesystem::exists(config_path)) return tokenizer;
  const JsonFile json(read_file(config_path), config_path.string());
  const JsonReader config = json.root();
  tokenizer.set_ends(named_token(config, "bos_token", tokenizer),
                     named_token(config, "eos_token", tokenizer));
  return tokenizer;
}

}  // namespace servetwin
