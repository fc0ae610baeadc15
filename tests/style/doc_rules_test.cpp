// If one of these failed, a document could name a test, file, scenario or command that does not exist.
#include <string>

#include "tests/style/rules.h"
#include "tests/support/catch.h"

namespace servetwin::style::doc_rules_test {
namespace {

const std::string kTest = "TEST_CASE(\"blocks are \"\n          \"conserved\") {}\n";

Tree with_test(const std::string& path, const std::string& text) {
  return {make_file("tests/sim/test_a.cpp", kTest), make_file(path, text)};
}

}  // namespace

TEST_CASE("a test case's name is read across adjacent literals and not from strings or comments") {
  const Tree tree{make_file("tests/a.cpp", kTest + "// TEST_CASE(\"b\")\nf(\"TEST_CASE(\\\"c\\\")\");\n")};
  CHECK(test_case_names(tree) == std::set<std::string>{"blocks are conserved"});
}

TEST_CASE("an invariant that names no existing test is found") {
  const std::string good =
      "# Invariants\n\n1. Blocks: free + used = all.\n   Test: \"blocks are conserved\"\n";
  CHECK(invariant_findings(with_test("docs/invariants.md", good)).empty());
  const Findings found =
      invariant_findings(with_test("docs/invariants.md", good + "2. Time. Test: \"it flows\"\n"));
  REQUIRE(found.size() == 1);
  CHECK(found[0].line == 5);
  CHECK(invariant_findings(with_test("docs/invariants.md", "| 1 | Time | `it flows` |\n")).size() == 1);
  CHECK(invariant_findings(with_test("docs/invariants.md", "| 1 | Blocks | `blocks are conserved` |\n"))
            .empty());
  CHECK(invariant_findings(with_test("docs/invariants.md", "## 1 Time\n\nNothing.\n")).size() == 1);
}

TEST_CASE("a scenario left out of docs/scenarios.md is found") {
  const SourceFile page = make_file("docs/scenarios.md", "`quickstart.yaml` starts quickly.\n");
  CHECK(scenario_findings({page, make_file("scenarios/quickstart.yaml", "# Q.\n")}).empty());
  CHECK(scenario_findings({page, make_file("scenarios/other.yaml", "# O.\n")}).size() == 1);
}

TEST_CASE("a glossary row with a missing file or test, an unknown status or an empty claim is found") {
  const std::string head = "id,term_en,file,test,status\n";
  const auto found = [&](const std::string& row) {
    return glossary_findings(with_test("docs/glossary.csv", head + row + "\n")).size();
  };
  CHECK(found("S01,Block,tests/sim/test_a.cpp,blocks are conserved,done") == 0);
  CHECK(found("S01,\"Block, paged\",tests/sim/; tests/sim/test_a.cpp,blocks are conserved,done") == 0);
  CHECK(found("S01,Block,,,planned") == 0);
  CHECK(found("S01,Block,sim/none.cpp,blocks are conserved,done") == 1);
  CHECK(found("S01,Block,tests/sim/test_a.cpp,no such claim,partial") == 1);
  CHECK(found("S01,Block,tests/sim/test_a.cpp,,done") == 1);
  CHECK(found("S01,Block,,blocks are conserved,partial") == 1);
  CHECK(found("S01,Block,tests/sim/test_a.cpp,blocks are conserved,finished") == 1);
  CHECK(found("S01,Block") == 1);
  CHECK(glossary_findings(with_test("docs/glossary.csv", "id,term\nS01,Block\n")).size() == 1);
}

TEST_CASE("a command of ours in a block that nothing runs is found") {
  const auto found = [](const std::string& path, const std::string& block) {
    return command_findings({make_file(path, "```" + block + "\n```\n")}).size();
  };
  CHECK(found("README.md", "sh\nservetwin list") == 0);
  CHECK(found("README.md", "text\n$ servetwin list") == 0);
  CHECK(found("README.md", "bash\nservetwin list") == 1);
  CHECK(found("README.md", "\n$ ./tools/demo") == 1);
  CHECK(found("docs/decisions/0001.md", "sh\nservetwin list") == 1);
  CHECK(found("docs/a.md", "cpp\nservetwin::run();") == 0);
}

}  // namespace servetwin::style::doc_rules_test
