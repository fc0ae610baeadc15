// A failure here means that a client sees part of a stop string, or loses text that was none.
#include "engine/models/tokenizer/stop_strings.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <rapidcheck.h>
#include <string>
#include <vector>

#include "engine/models/tokenizer/detokenizer.h"
#include "engine/models/tokenizer/tokenizer.h"
#include "tests/support/catch.h"
#include "tests/support/tokenizer_oracle.h"

namespace servetwin::stop_strings_test {
namespace {

using Json = nlohmann::json;

Tokenizer with_pieces(const std::vector<std::string>& pieces) {
  TokenizerParts parts;
  for (const std::string& piece : pieces) parts.pieces.push_back({piece});
  parts.texts = pieces;
  return Tokenizer(std::move(parts));
}

struct Streamed {
  std::string text;
  std::string ever;  // all that went out before the end
  std::int64_t tokens = 0;
  bool stopped = false;
};

Streamed stream(const std::vector<std::string>& pieces, const DetokenizerOptions& options) {
  const Tokenizer tokenizer = with_pieces(pieces);
  Detokenizer detokenizer(tokenizer, options);
  Streamed out;
  for (std::size_t i = 0; i < pieces.size() && !out.stopped; ++i) {
    out.text += detokenizer.feed(static_cast<TokenId>(i));
    ++out.tokens;
    out.stopped = detokenizer.stopped();
  }
  out.text += detokenizer.finish();
  return out;
}

// What the whole text says: the match that ends first, of those the longest.
std::string cut_at_stop(const std::string& text, const std::vector<std::string>& stops) {
  for (std::size_t end = 1; end <= text.size(); ++end) {
    std::size_t longest = 0;
    for (const std::string& stop : stops) {
      if (std::string_view(text).substr(0, end).ends_with(stop)) longest = std::max(longest, stop.size());
    }
    if (longest > 0) return text.substr(0, end - longest);
  }
  return text;
}

}  // namespace

TEST_CASE("the recorded stop-string cases give their text, their reason and their count of tokens") {
  const std::string path = SERVETWIN_DATA_DIR "/../cases/files/http/H1_stop_vectors.json";
  if (!std::filesystem::exists(path)) {
    WARN("SKIPPED: " << path << " is not there");
    return;
  }
  const std::vector<std::int64_t> counts{4, 4, 4, 3, 2, 2, 3, 5, 3};
  const Json vectors = Json::parse(read_whole_file(path)).at("vectors");
  REQUIRE(vectors.size() == counts.size());
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    const Json& row = vectors[i];
    INFO(row.dump());
    DetokenizerOptions options;
    options.stop = row.at("stop").get<std::vector<std::string>>();
    options.include_stop = row.value("include_stop_str_in_output", false);
    options.min_tokens = row.value("min_tokens", 0);
    const Streamed got = stream(row.at("pieces").get<std::vector<std::string>>(), options);
    CHECK(got.text == row.at("final_text").get<std::string>());
    CHECK(got.stopped == (row.at("finish_reason") == "stop"));
    CHECK(got.tokens == counts[i]);
    for (const std::string never : row.at("never_emitted")) CHECK(got.text.find(never) == std::string::npos);
  }
}

TEST_CASE("a stop string is found in whichever pieces the text comes") {
  rc::check("split invariance", [] {
    const auto letters = rc::gen::container<std::string>(rc::gen::element('a', 'b', 'c'));
    const std::string text = *letters;
    const auto stops = *rc::gen::container<std::vector<std::string>>(rc::gen::nonEmpty(letters));
    std::vector<std::string> pieces;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t size = *rc::gen::inRange<std::size_t>(1, 5);
      pieces.push_back(text.substr(at, size));
      at += size;
    }
    DetokenizerOptions options;
    options.stop = stops;
    RC_ASSERT(stream(pieces, options).text == cut_at_stop(text, stops));
  });
}

TEST_CASE("nothing is held back that cannot become a stop string") {
  StopStrings stops({"abcd"}, false);
  CHECK(stops.feed("xab", true) == "x");
  CHECK(stops.feed("x", true) == "abx");
  CHECK(stops.feed("abc", true).empty());
  CHECK(stops.feed("abcd tail", true) == "abc");
  CHECK(stops.matched());
  CHECK(stops.finish().empty());
}

TEST_CASE("a character whose bytes are tokens ends a stop string with its last byte") {
  DetokenizerOptions options;
  options.stop = {"\xC3\xA9"};
  const Streamed got = stream({"a", "\xC3", "\xA9", "b"}, options);
  CHECK(got.text == "a");
  CHECK(got.tokens == 3);
}

TEST_CASE("before min_tokens a stop string is text like any other") {
  DetokenizerOptions options;
  options.stop = {"ab"};
  options.min_tokens = 2;
  CHECK(stream({"a", "b", "a", "b", "c"}, options).text == "ab");
  CHECK(stream({"a", "bc"}, options).text == "abc");
}

}  // namespace servetwin::stop_strings_test
