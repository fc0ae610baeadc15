// If these fail, a message ends in a code that `servetwin explain` knows nothing about.
#include "scenarios/error_codes.h"

#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "tests/support/catch.h"

namespace servetwin::error_codes_test {
namespace {

bool is_code(const std::string& text, std::size_t at) {
  for (std::size_t i = 0; i < 3; ++i) {
    if (std::isupper(static_cast<unsigned char>(text[at + i])) == 0) return false;
    if (std::isdigit(static_cast<unsigned char>(text[at + 3 + i])) == 0) return false;
  }
  return true;
}

// Every text of the form "ABC123" in the program's sources, the pages themselves excepted.
std::set<std::string> codes_used() {
  std::set<std::string> codes;
  for (const char* folder : {"engine", "sim", "costmodels", "calibrate", "scenarios", "cli"}) {
    const auto root = std::filesystem::path(SERVETWIN_SOURCE_DIR) / folder;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
      const auto extension = entry.path().extension();
      if ((extension != ".cpp" && extension != ".h") || entry.path().stem() == "error_codes") continue;
      std::ifstream in(entry.path());
      const std::string text{std::istreambuf_iterator<char>(in), {}};
      for (std::size_t at = text.find('"'); at != std::string::npos; at = text.find('"', at + 1)) {
        if (at + 7 >= text.size()) break;
        if (text[at + 7] == '"' && is_code(text, at + 1)) codes.insert(text.substr(at + 1, 6));
      }
    }
  }
  return codes;
}

TEST_CASE("every code in the program has a page and every page a code") {
  const std::set<std::string> used = codes_used();
  CHECK(used.size() > 30);
  for (const std::string& code : used) {
    CAPTURE(code);
    CHECK(find_error_page(code) != nullptr);
  }
  for (const ErrorPage& page : error_pages()) {
    CAPTURE(page.code);
    CHECK(used.count(page.code) == 1);
  }
}

TEST_CASE("pages are in order, complete and found by code") {
  std::string last;
  for (const ErrorPage& page : error_pages()) {
    CHECK(last < page.code);
    last = page.code;
    CHECK(std::string(page.explanation).size() > 40);
    CHECK_FALSE(std::string(page.example).empty());
  }
  CHECK(find_error_page("CFG999") == nullptr);
  CHECK(to_text(*find_error_page("CFG008")).substr(0, 21) == "CFG008: Duplicate key");
}

}  // namespace
}  // namespace servetwin::error_codes_test
