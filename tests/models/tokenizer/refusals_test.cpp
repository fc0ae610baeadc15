// A failure here means that a tokenizer was understood approximately, or that a broken file was believed.
#include <nlohmann/json.hpp>
#include <string>

#include "engine/base/error.h"
#include "engine/models/tokenizer/pattern.h"
#include "engine/models/tokenizer/pre_tokenizer.h"
#include "engine/models/tokenizer/tokenizer_json.h"
#include "engine/models/tokenizer/vocab_data.h"
#include "tests/support/catch.h"
#include "tests/support/tokenizer_oracle.h"

namespace servetwin::refusals_test {
namespace {

using Json = nlohmann::json;

Json base() {
  return Json::parse(read_whole_file(SERVETWIN_SOURCE_DIR "/tests/oracles/tokenizers/llama2.json"));
}

std::string message_of(const Json& file) {
  try {
    parse_tokenizer_json(file.dump(), "tokenizer.json");
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "accepted";
}

void check_refused(const char* pointer, const char* value, const char* named) {
  Json file = base();
  file[Json::json_pointer(pointer)] = Json::parse(value);
  INFO(pointer << " = " << value << " gives " << message_of(file));
  CHECK(message_of(file).find(named) != std::string::npos);
}

std::string pattern_message(const std::string& pattern) {
  try {
    Pattern(pattern, {"t", "p"});
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "accepted";
}

VocabData scored() {
  VocabData data;
  data.model = "llama";
  data.tokens = {"<unk>",
                 "<s>",
                 "</s>",
                 "a",
                 "b",
                 "\xE2\x96\x81",
                 "ab",
                 "\xE2\x96\x81"
                 "a",
                 "[U]"};
  data.scores = {0, 0, 0, -3, -4, -5, -1, -2, 0};
  data.token_type = {2, 3, 3, 1, 1, 1, 1, 1, 4};
  data.bos = 1;
  data.eos = 2;
  data.unknown = 0;
  return data;
}

}  // namespace

TEST_CASE("what tokenizer.json asks beyond what is done exactly is refused by its name") {
  check_refused("/normalizer", R"({"type":"Lowercase"})", "'Lowercase'");
  check_refused("/normalizer", R"({"type":"Replace","pattern":{"Regex":" +"},"content":" "})", "no String");
  check_refused("/pre_tokenizer", R"({"type":"Whitespace"})", "'Whitespace'");
  check_refused("/pre_tokenizer", R"({"type":"Split","pattern":{"String":" "},"behavior":"Contiguous"})",
                "'Contiguous'");
  check_refused("/pre_tokenizer", R"({"type":"Split","pattern":{"Regex":"(?<=a)b"},"behavior":"Isolated"})",
                "'(?<'");
  check_refused("/pre_tokenizer", R"({"type":"Metaspace","replacement":"_"})", "'_'");
  check_refused("/pre_tokenizer", R"({"type":"ByteLevel"})", "only one of");
  check_refused("/post_processor", R"({"type":"BertProcessing","sep":["a",1],"cls":["b",2]})",
                "'BertProcessing'");
  check_refused("/decoder", R"({"type":"WordPiece"})", "'WordPiece'");
  check_refused("/decoder", R"({"type":"Strip","content":" ","start":1,"stop":0})", "Strip");
  check_refused("/decoder", "null", "without a decoder");
  check_refused("/model/type", R"("Unigram")", "'Unigram'");
  check_refused("/model/dropout", "0.1", "dropout");
  check_refused("/model/end_of_word_suffix", R"("</w>")", "affix");
  check_refused("/model/novelty", "true", "'novelty'");
  check_refused("/truncation", R"({"max_length":5})", "truncation");
}

TEST_CASE("a tokenizer.json that contradicts itself is rejected with the place") {
  check_refused("/model/vocab/a", "4294967296", "model.vocab.a");
  check_refused("/model/vocab/a", "-1", "whole number");
  check_refused("/model/vocab/a", "5000000", "too large");
  check_refused("/model/vocab/zzz", "1", "both");
  check_refused("/model/merges/0", R"(["no","token"])", "is no token");
  check_refused("/model/merges/0", R"("one")", "no pair");
  check_refused("/model/unk_token", R"("absent")", "is no token");
  check_refused("/added_tokens/0/id", "7", "both");
  check_refused("/added_tokens/0/content", R"("")", "no content");
  check_refused("/post_processor/special_tokens/<s>/ids/0", "99999", "is no token");
  CHECK_THROWS_AS(parse_tokenizer_json("[]", "t"), ConfigError);
  CHECK_THROWS_AS(parse_tokenizer_json("{", "t"), ConfigError);
  CHECK_THROWS_AS(parse_tokenizer_json(std::string(100'000, '['), "t"), ConfigError);
}

TEST_CASE("a regular expression that two engines could read differently is refused") {
  CHECK(pattern_message(R"([^\s\p{L}]+)") == "accepted");
  for (const char* pattern : {R"(\w+)", R"(\h)", "^a", "a.b", "a++", "a{2}+", "a??", "a{,3}", R"([a[b]])",
                              R"([a&&b])", R"(\p{Han}+)", R"(\X)", "(?>a)", "(?<!a)b", R"(\1)", R"([\S])"}) {
    INFO(pattern);
    CHECK(pattern_message(pattern).find("not supported") != std::string::npos);
  }
  CHECK(pattern_message("a*").find("match nothing") != std::string::npos);
  CHECK(pattern_message("(a").find("wrong") != std::string::npos);
}

TEST_CASE("a long run of white space is split, not a crash") {
  const Pattern pattern(kGpt2Pattern, {"t", "p"});
  const std::string text = std::string(3'000'000, ' ') + "x";
  const std::optional<TextRange> match = pattern.find(text, 0);
  REQUIRE(match.has_value());
  CHECK(match->end == text.size() - 2);
}

TEST_CASE("a split that would take too long is refused") {
  const Pattern pattern("(?:a|aa)+[bc]", {"t", "p"});
  CHECK_THROWS_AS(pattern.find(std::string(60, 'a') + "d", 0), ConfigError);
}

TEST_CASE("SentencePiece data merge by score, fall back to the unknown token, and know their added tokens") {
  const Tokenizer tokenizer = make_tokenizer(scored(), "m.gguf");
  CHECK(tokenizer.encode("ab") == std::vector<TokenId>{1, 5, 6});  // "ab" has the better score than "_a"
  CHECK(tokenizer.encode("a") == std::vector<TokenId>{1, 7});
  CHECK(tokenizer.encode("xy") == std::vector<TokenId>{1, 5, 0});
  CHECK(tokenizer.encode("[U]</s>") == std::vector<TokenId>{1, 8, 2});
  CHECK(tokenizer.decode({1, 5, 6, 2}, true) == "ab");
  VocabData data = scored();
  data.add_bos = false;
  data.add_eos = true;
  data.add_space_prefix = false;
  CHECK(make_tokenizer(data, "m.gguf").encode("ab") == std::vector<TokenId>{6, 2});
}

TEST_CASE("vocabulary data that are incomplete or unknown are refused by name") {
  const auto message = [](auto change) {
    VocabData data = scored();
    change(data);
    try {
      make_tokenizer(data, "m.gguf");
    } catch (const ConfigError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  const auto has = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  CHECK(has(message([](VocabData& d) { d.model = "bert"; }), "'bert'"));
  CHECK(has(message([](VocabData& d) {
              d.model = "gpt2";
              d.pre = "falcon";
            }),
            "'falcon'"));
  CHECK(has(message([](VocabData& d) { d.scores.pop_back(); }), "8 scores of 9 tokens"));
  CHECK(has(message([](VocabData& d) { d.token_type[0] = 9; }), "token type 9"));
  CHECK(has(message([](VocabData& d) { d.token_type.pop_back(); }), "8 types of 9 tokens"));
  CHECK(has(message([](VocabData& d) { d.bos = 9; }), "no token 9"));
  CHECK(has(message([](VocabData& d) { d.bos.reset(); }), "bos_token_id"));
  CHECK(has(message([](VocabData& d) { d.tokens[4] = "a"; }), "comes twice"));
  CHECK(has(message([](VocabData& d) { d.tokens.clear(); }), "0 tokens"));
}

}  // namespace servetwin::refusals_test
