// If one of these failed, the tree would break a promise of docs/contributing.md; each prints where.
#include <set>
#include <string>

#include "tests/style/rules.h"
#include "tests/support/catch.h"

namespace servetwin::style::tree_test {
namespace {

const Tree& project() {
  static const Tree kTree = read_tree(SERVETWIN_SOURCE_DIR);
  return kTree;
}

void require_none(const Findings& findings) {
  INFO(to_string(findings));
  REQUIRE(findings.empty());
}

}  // namespace

TEST_CASE("the walk finds the project's own files and no build output") {
  CHECK(find_file(project(), "CMakeLists.txt") != nullptr);
  CHECK(find_file(project(), "engine/base/time.h") != nullptr);
  CHECK(find_file(project(), "tests/style/tree_test.cpp") != nullptr);
  for (const SourceFile& file : project()) CHECK_FALSE(file.path.starts_with("build/"));
  CHECK(test_case_names(project()).contains("the walk finds the project's own files and no build output"));
}

TEST_CASE("every include follows the arrows between folders") { require_none(include_findings(project())); }

TEST_CASE("no folder uses a word it must do without") { require_none(word_findings(project())); }

TEST_CASE("the project speaks of itself alone") { require_none(environment_findings(project())); }

TEST_CASE("files, functions and lines stay within their budgets") {
  require_none(budget_findings(project()));
}

TEST_CASE("every file opens with a comment on its role") { require_none(role_findings(project())); }

TEST_CASE("every file with test cases has a namespace of its own") {
  require_none(namespace_findings(project()));
}

TEST_CASE("every numbered invariant names a test case that exists") {
  require_none(invariant_findings(project()));
}

TEST_CASE("every scenario is named in docs/scenarios.md") { require_none(scenario_findings(project())); }

TEST_CASE("every file and test that the glossary names exists") {
  require_none(glossary_findings(project()));
}

TEST_CASE("the glossary has the 39 terms of one list and the 40 of the other, each once") {
  const SourceFile* page = find_file(project(), "docs/glossary.csv");
  REQUIRE(page != nullptr);
  std::set<std::string> terms;
  for (const std::string& line : page->lines) terms.insert(line.substr(0, line.find(',')));
  CHECK(page->lines.size() == 1 + 39 + 40);
  for (int number = 1; number <= 40; ++number) {
    const std::string digits = (number < 10 ? "0" : "") + std::to_string(number);
    if (number <= 39) CHECK(terms.contains("S" + digits));
    CHECK(terms.contains("N" + digits));
  }
}

TEST_CASE("every command shown in the documents is run or marked as text") {
  require_none(command_findings(project()));
}

}  // namespace servetwin::style::tree_test
