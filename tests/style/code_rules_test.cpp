// If one of these failed, a rule about code would let pass what it is there to refuse, or refuse what is
// fine.
#include <string>
#include <vector>

#include "tests/style/rules.h"
#include "tests/support/catch.h"

namespace servetwin::style::code_rules_test {
namespace {

Findings includes_of(const std::string& path, const std::string& text) {
  return include_findings({make_file(path, text)});
}

Findings words_of(const std::string& path, const std::string& text) {
  return word_findings({make_file(path, text)});
}

Findings budgets_of(const std::string& path, const std::string& text) {
  return budget_findings({make_file(path, text)});
}

std::string lines(int count, const std::string& line) {
  std::string text;
  for (int i = 0; i < count; ++i) text += line + "\n";
  return text;
}

}  // namespace

TEST_CASE("an include against the arrows is found with its line") {
  const Findings found =
      includes_of("engine/serving/a.cpp", "// Role.\n#include \"sim/core/event_queue.h\"\n");
  REQUIRE(found.size() == 1);
  CHECK(found[0].line == 2);
  CHECK(includes_of("engine/base/a.h", "#include \"engine/serving/event.h\"\n").size() == 1);
  CHECK(includes_of("sim/core/a.cpp", "#include \"scenarios/yaml_loader.h\"\n").size() == 1);
  CHECK(includes_of("scenarios/a.cpp", "#include \"cli/main.h\"\n").size() == 1);
  CHECK(includes_of("engine/serving/a.cpp", "#include \"generated/servetwin_build.h\"\n").size() == 1);
}

TEST_CASE("an include along the arrows is fine") {
  CHECK(includes_of("engine/serving/rules/a.cpp", "#include \"engine/base/time.h\"\n").empty());
  CHECK(includes_of("engine/serving/a.cpp", "#include \"engine/serving/rules/rule.h\"\n#include <vector>\n")
            .empty());
  CHECK(includes_of("cli/a.cpp", "#include \"sim/core/event_queue.h\"\n").empty());
}

TEST_CASE("arrows are not transitive and some name single headers") {
  CHECK(includes_of("costmodels/a.cpp", "#include \"engine/serving/shape.h\"\n").empty());
  CHECK(includes_of("costmodels/a.cpp", "#include \"engine/serving/event.h\"\n").size() == 1);
  CHECK(includes_of("costmodels/a.cpp", "#include \"kernels/gemm/gemm_cost.h\"\n").empty());
  CHECK(includes_of("costmodels/a.cpp", "#include \"kernels/gemm/gemm.h\"\n").size() == 1);
  CHECK(includes_of("kernels/gemm/gemm_cost.h", "#include \"engine/decoding/sampler.h\"\n").size() == 1);
}

TEST_CASE("an include that does not start at the root is found") {
  CHECK(includes_of("engine/base/a.cpp", "#include \"a.h\"\n").size() == 1);
}

TEST_CASE("product code may not include tests, and a folder without a row may include nothing") {
  CHECK(includes_of("cli/a.cpp", "#include \"tests/support/catch.h\"\n").size() == 1);
  CHECK(includes_of("newfolder/a.cpp", "#include \"engine/base/time.h\"\n").size() == 1);
}

TEST_CASE("heavy headers are refused in a header and fine in a source") {
  CHECK(includes_of("scenarios/a.h", "#include <yaml-cpp/yaml.h>\n").size() == 1);
  CHECK(includes_of("engine/metrics/a.h", "#  include <fmt/format.h>\n").size() == 1);
  CHECK(includes_of("scenarios/a.cpp", "#include <yaml-cpp/yaml.h>\n").empty());
}

TEST_CASE("an include inside a comment or a string counts for nothing") {
  CHECK(includes_of("engine/base/a.h", "// #include \"sim/core/a.h\"\n/*\n#include \"sim/core/a.h\"\n*/\n")
            .empty());
}

TEST_CASE("each forbidden word is found where it is forbidden") {
  const std::vector<std::string> bad{"auto t = std::chrono::steady_clock::now();",
                                     "std::unordered_map<int, int> m;",
                                     "std::normal_distribution<double> d;",
                                     "std::shuffle(a, b, c);",
                                     "std::random_device r;",
                                     "double y = std::log(x);",
                                     "double y = exp (x);",
                                     "float x = 1;",
                                     "std::chrono::duration<double> d;",
                                     "#include <iostream>",
                                     "std::thread t;",
                                     "std::shared_ptr<int> p;",
                                     "#define TWICE 2",
                                     "std::regex r;"};
  for (const std::string& line : bad) {
    INFO(line);
    CHECK(words_of("engine/serving/a.cpp", line).size() == 1);
  }
  CHECK(words_of("sim/core/a.cpp", "#ifdef NDEBUG\n").size() == 1);
  CHECK(words_of("kernels/norm/a.cu", "kernel<<<grid, block>>>();\n").size() == 1);
  CHECK(words_of("kernels/norm/a.cu", "__shared__ float sums[32];\n").size() == 1);
  CHECK(words_of("kernels/norm/a.cuh", "asm volatile(\"bar.sync 0;\");\n").size() == 1);
  CHECK(words_of("kernels/gemm/gemm_cost.cpp", "double y = pow(x, 2);\n").size() == 1);
}

TEST_CASE("words that only look forbidden pass") {
  const std::vector<std::string> good{"double y = det::log(x);",
                                      "log.append(1);",
                                      "journal->log(1);",
                                      "int exp = 2;",
                                      "// std::log is not used here",
                                      "const char* s = \"rand(1)\";",
                                      "det_exp(x);",
                                      "int floats = 0;",
                                      "std::sqrt(std::fma(a, b, c));",
                                      "int brand(int x);",
                                      "'\"'; f(\"rand()\");"};
  for (const std::string& line : good) {
    INFO(line);
    CHECK(words_of("engine/serving/a.cpp", line).empty());
  }
  CHECK(words_of("cli/a.cpp", "auto t = std::chrono::steady_clock::now();").empty());
  CHECK(words_of("kernels/gemm/gemm.cpp", "float x = 1;").empty());
  CHECK(words_of("kernels/cuda/launch.cuh", "kernel<<<grid, block>>>();\n").empty());
}

TEST_CASE("using namespace is refused in headers alone") {
  CHECK(words_of("cli/a.h", "using namespace std;").size() == 1);
  CHECK(words_of("cli/a.cpp", "using namespace std::chrono_literals;").empty());
}

TEST_CASE("a raw string is blanked up to its own end") {
  const SourceFile file = make_file("a.cpp", "f(R\"x(std::regex )\" )x\"); std::regex r;\n");
  CHECK(file.code[0].find("std::regex") == file.lines[0].rfind("std::regex"));
}

TEST_CASE("test cases outside a namespace named after their file are found") {
  const char* alike = "namespace servetwin {\nTEST_CASE(\"a\") {}\n}\n";
  const char* own = "namespace servetwin::a_test {\nTEST_CASE(\"a\") {}\n}\n";
  CHECK(namespace_findings({make_file("tests/base/a_test.cpp", alike)}).size() == 1);
  CHECK(namespace_findings({make_file("tests/base/b_test.cpp", own)}).size() == 1);
  CHECK(namespace_findings({make_file("tests/base/a_test.cpp", own)}).empty());
  CHECK(namespace_findings({make_file("tests/support/a.cpp", "namespace servetwin {\n}\n")}).empty());
}

TEST_CASE("a path of one machine is found in any file, a document too") {
  CHECK(environment_findings({make_file("docs/a.md", "see /home/me\n")}).size() == 1);
  CHECK(environment_findings({make_file("cli/a.cpp", "open(\"/tmp/x\");\n")}).size() == 1);
  CHECK(environment_findings({make_file("cli/a.cpp", "// TODO later\n")}).size() == 1);
  CHECK(environment_findings({make_file("docs/a.md", "multi-turn sessions do work\n")}).empty());
}

TEST_CASE("a file one line over its budget is found") {
  CHECK(budgets_of("engine/base/a.h", lines(150, "int x;")).empty());
  CHECK(budgets_of("engine/base/a.h", lines(151, "int x;")).size() == 1);
  CHECK(budgets_of("engine/base/a.cpp", lines(400, "int x;")).empty());
  CHECK(budgets_of("engine/base/a.cpp", lines(401, "int x;")).size() == 1);
  CHECK(budgets_of("tests/base/a.cpp", lines(500, "int x;")).empty());
  CHECK(budgets_of("tests/base/a.cpp", lines(501, "int x;")).size() == 1);
  const std::string plug_in = "const Registered<Router, RoundRobin> kRoundRobin{\"round_robin\", \"\"};\n";
  CHECK(budgets_of("engine/serving/routers/a.cpp", lines(150, "int x;") + plug_in).size() == 1);
}

TEST_CASE("a line is measured in characters, not bytes") {
  CHECK(budgets_of("cli/a.cpp", "// " + std::string(107, 'x') + "\n").empty());
  CHECK(budgets_of("cli/a.cpp", "// " + std::string(108, 'x') + "\n").size() == 1);
  std::string wide = "// ";
  for (int i = 0; i < 107; ++i) wide += "\xE4\xB8\x8D";
  CHECK(budgets_of("cli/a.cpp", wide + "\n").empty());
  CHECK(budgets_of("tools/x", "# " + std::string(109, 'x') + "\n").size() == 1);
  CHECK(budgets_of("docs/a.md", std::string(300, 'x') + "\n").empty());
}

TEST_CASE("a function of 71 lines is found, free, member or test, and its first line is named") {
  const std::string body = lines(69, "  f();");
  CHECK(budgets_of("cli/a.cpp", "namespace x {\nint f() {\n" + lines(68, "  f();") + "}\n}\n").empty());
  const Findings found = budgets_of("cli/a.cpp", "namespace x {\nint f(\n    int a) {\n" + body + "}\n}\n");
  REQUIRE(found.size() == 1);
  CHECK(found[0].line == 2);
  CHECK(budgets_of("cli/a.cpp",
                   "class A final : public B<C> {\n  int f() const override {\n" + body + "}\n};\n")
            .size() == 1);
  CHECK(budgets_of("cli/a.cpp", "A::A(int a) : a_{a} {\n" + body + "}\n").size() == 1);
  CHECK(budgets_of("tests/a/a.cpp", "TEST_CASE(\"x\") {\n" + body + "}\n").size() == 1);
}

TEST_CASE("a long table of data or a long class is no function") {
  CHECK(budgets_of("cli/a.cpp", "const std::vector<int> kTable{\n" + lines(80, "  1,") + "};\n").empty());
  CHECK(budgets_of("cli/a.cpp", "struct Options {\n" + lines(80, "  int x = 0;") + "};\n").empty());
  CHECK(budgets_of("cli/a.cpp", "enum class Kind : int {\n" + lines(80, "  a,") + "};\n").empty());
}

TEST_CASE("a file without an opening comment, or with an essay, is found") {
  CHECK(role_findings({make_file("cli/a.cpp", "// Role.\n#include <vector>\n")}).empty());
  CHECK(role_findings({make_file("cli/a.cpp", "#include <vector>\n")}).size() == 1);
  CHECK(role_findings({make_file("cli/a.cpp", lines(4, "// Role."))}).size() == 1);
  CHECK(role_findings({make_file("cli/a.cpp", "// Role.\n//\n" + lines(4, "//   f();"))}).empty());
  CHECK(role_findings({make_file("tools/a", "#!/usr/bin/env bash\n# Role.\n")}).empty());
  CHECK(role_findings({make_file("tools/a", "#!/usr/bin/env bash\nset -e\n")}).size() == 1);
  CHECK(role_findings({make_file("scenarios/a.yaml", "kind: Scenario\n")}).size() == 1);
  CHECK(role_findings({make_file("docs/a.md", "Text\n")}).empty());
}

TEST_CASE("a header without #pragma once after its comment is found") {
  CHECK(role_findings({make_file("cli/a.h", "// Role.\n#pragma once\n")}).empty());
  CHECK(role_findings({make_file("cli/a.h", "// Role.\n#include <vector>\n")}).size() == 1);
}

}  // namespace servetwin::style::code_rules_test
