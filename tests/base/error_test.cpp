// If this fails, a person with a bad input file is not told where it is wrong or what to write instead.
#include "engine/base/error.h"

#include <algorithm>

#include "tests/support/catch.h"

namespace servetwin::error_test {
namespace {

TEST_CASE("a problem prints as file, line, column, path, message, remedy and code") {
  const Problem problem{"CFG101", {"a.yaml", 3, 7}, "spec.engine", "unknown key", "did you mean seed?"};
  CHECK(to_string(problem) == "a.yaml:3:7: spec.engine: unknown key (did you mean seed?) [CFG101]");
}

TEST_CASE("what a problem does not know is left out of its text") {
  CHECK(to_string({"", {}, "", "bad", ""}) == "bad");
  CHECK(to_string({"", {"a.yaml", 0, 0}, "", "bad", ""}) == "a.yaml: bad");
  CHECK(to_string({"C1", {"a.yaml", 4, 0}, "x", "bad", ""}) == "a.yaml:4: x: bad [C1]");
}

TEST_CASE("an error joins its problems line by line and keeps them all") {
  const ConfigError error({{"A", {}, "", "first", ""}, {"B", {}, "", "second", ""}});
  CHECK(std::string(error.what()) == "first [A]\nsecond [B]");
  CHECK(error.problems().size() == 2);
}

TEST_CASE("an error with many problems shows twenty and counts the rest") {
  const ConfigError error(std::vector<Problem>(23, {"", {}, "", "bad", ""}));
  const std::string text = error.what();
  CHECK(std::count(text.begin(), text.end(), '\n') == 20);
  CHECK(text.substr(text.rfind('\n') + 1) == "and 3 more");
  CHECK(error.problems().size() == 23);
}

TEST_CASE("the nearest name is the one with the fewest edits") {
  const std::vector<std::string> names = {"max_num_seqs", "max_model_len", "block_size"};
  CHECK(nearest_name("max_num_seq", names) == "max_num_seqs");
  CHECK(nearest_name("blocksize", names) == "block_size");
  CHECK(nearest_name("max_modle_len", names) == "max_model_len");
}

TEST_CASE("nothing is suggested when no name is near") {
  CHECK(nearest_name("temperature", {"block_size", "seed"}).empty());
  CHECK(nearest_name("seed", {}).empty());
}

TEST_CASE("of equally near names the first is suggested") {
  CHECK(nearest_name("tost", {"test", "toast", "most"}) == "test");
}

}  // namespace
}  // namespace servetwin::error_test
