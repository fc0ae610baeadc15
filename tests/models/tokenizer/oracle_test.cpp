// A failure here means that a model would see other tokens, or a client other text, than with Hugging Face.
#include <algorithm>
#include <filesystem>
#include <rapidcheck.h>
#include <string>

#include "engine/models/tokenizer/detokenizer.h"
#include "engine/models/tokenizer/tokenizer.h"
#include "engine/models/tokenizer/tokenizer_json.h"
#include "engine/models/tokenizer/utf8.h"
#include "tests/support/catch.h"
#include "tests/support/tokenizer_oracle.h"

namespace servetwin::oracle_test {
namespace {

const std::string kFolder = SERVETWIN_SOURCE_DIR "/tests/oracles/tokenizers/";

Tokenizer read_family(const std::string& name) {
  const std::string path = kFolder + name + ".json";
  return parse_tokenizer_json(read_whole_file(path), path);
}

// Where broken bytes come from the byte fallback, Hugging Face gives up the whole characters beside them too.
bool differs_by_rule(const Tokenizer& tokenizer, const std::string& text) {
  return tokenizer.has_fallback() && text.find("\xEF\xBF\xBD") != std::string::npos;
}

void compare(const Tokenizer& tokenizer, const OracleFamily& family) {
  for (const OracleEncoding& row : family.encodings) {
    INFO(family.name << ": " << row.bytes);
    CHECK(tokenizer.encode(row.bytes) == row.ids);
    CHECK(tokenizer.encode(row.bytes, {false, true}) == row.plain);
    CHECK(tokenizer.encode(row.bytes, {false, false}) == row.unspecial);
    CHECK(tokenizer.decode(row.ids) == row.text);
  }
  for (const OracleDecoding& row : family.decodings) {
    INFO(family.name << ": " << Catch::StringMaker<std::vector<TokenId>>::convert(row.ids));
    if (!differs_by_rule(tokenizer, row.text)) CHECK(tokenizer.decode(row.ids) == row.text);
    if (!differs_by_rule(tokenizer, row.skipped)) CHECK(tokenizer.decode(row.ids, true) == row.skipped);
  }
}

}  // namespace

TEST_CASE("every family's tokenizer gives the ids and texts that Hugging Face gives") {
  const std::vector<OracleFamily> families = read_oracle(kFolder + "ids.json");
  REQUIRE(families.size() >= 13);
  for (const OracleFamily& family : families) {
    REQUIRE(family.encodings.size() > 50);
    compare(read_family(family.name), family);
  }
}

TEST_CASE("what byte-level tokenizers encode they decode to the same bytes") {
  for (const char* name : {"gpt2", "smollm", "llama3", "deepseek3", "tekken"}) {
    const Tokenizer tokenizer = read_family(name);
    rc::check(std::string(name) + " round trip", [&](const std::vector<std::uint16_t>& units) {
      std::string text;
      for (const std::uint16_t unit : units) {
        const char32_t c = *rc::gen::element<char32_t>(unit & 0x7FU, unit & 0x3FFU, 0x4E00U + (unit & 0xFFU),
                                                       0x1F600U + (unit & 0x3FU), ' ', '\n');
        append_utf8(text, c);
      }
      RC_ASSERT(tokenizer.decode_bytes(tokenizer.encode(text, {false, true})) == text);
    });
  }
}

TEST_CASE("joined deltas are the text decoded at once, whatever tokens come") {
  for (const char* name : {"gpt2", "llama2", "gemma", "qwen2"}) {
    const Tokenizer tokenizer = read_family(name);
    rc::check(std::string(name) + " streaming", [&](bool skip_special) {
      const auto tokens = *rc::gen::container<std::vector<TokenId>>(
          rc::gen::inRange<TokenId>(-2, static_cast<TokenId>(tokenizer.vocab_size()) + 3));
      DetokenizerOptions options;
      options.skip_special = skip_special;
      Detokenizer detokenizer(tokenizer, options);
      std::string text;
      for (const TokenId token : tokens) {
        const std::string delta = detokenizer.feed(token);
        RC_ASSERT(repaired_utf8(delta) == delta);
        text += delta;
      }
      text += detokenizer.finish();
      RC_ASSERT(text == tokenizer.decode(tokens, skip_special));
      if (!tokenizer.has_fallback())
        RC_ASSERT(text == repaired_utf8(tokenizer.decode_bytes(tokens, skip_special)));
    });
  }
}

}  // namespace servetwin::oracle_test
