// If this fails, numbers in reports do not read back as they were, or a CSV line is split in the wrong
// places.
#include "engine/base/text.h"

#include <cstdlib>
#include <limits>

#include "tests/support/catch.h"

namespace servetwin::text_test {
namespace {

TEST_CASE("a double prints as the shortest text that reads back the same") {
  CHECK(format_number(0.1) == "0.1");
  CHECK(format_number(100.0) == "100");
  CHECK(format_number(1e22) == "1e+22");
  CHECK(format_number(-2.5) == "-2.5");
  for (const double value : {1.0 / 3, 5e-324, std::numeric_limits<double>::max(), 123456789.123}) {
    CHECK(std::strtod(format_number(value).c_str(), nullptr) == value);
  }
}

TEST_CASE("whole numbers group by thousands for people") {
  CHECK(format_grouped(0) == "0");
  CHECK(format_grouped(999) == "999");
  CHECK(format_grouped(1000) == "1,000");
  CHECK(format_grouped(-1234567) == "-1,234,567");
  CHECK(format_number(std::int64_t{-1234567}) == "-1234567");
}

TEST_CASE("a CSV line splits at commas outside quotes") {
  using Fields = std::vector<std::string>;
  CHECK(split_csv_line("a,b,,c") == Fields{"a", "b", "", "c"});
  CHECK(split_csv_line("\"a,b\",\"say \"\"hi\"\"\"\r") == Fields{"a,b", "say \"hi\""});
  CHECK(split_csv_line("") == Fields{""});
}

TEST_CASE("any text survives being a CSV field") {
  for (const std::string text : {"plain", "a,b", "say \"hi\"", "", "\"", ","}) {
    CHECK(split_csv_line("x," + csv_field(text) + ",y") == std::vector<std::string>{"x", text, "y"});
  }
  CHECK(csv_field("plain") == "plain");
}

TEST_CASE("parts join with the separator between them only") {
  CHECK(join({}, ", ").empty());
  CHECK(join({"a"}, ", ") == "a");
  CHECK(join({"a", "b"}, ", ") == "a, b");
}

}  // namespace
}  // namespace servetwin::text_test
