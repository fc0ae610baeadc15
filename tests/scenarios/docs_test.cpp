// If these fail, docs/scenarios.md or docs/compare.md tells of other keys or scenarios than there are. The
// failure prints the table due.
#include <fstream>
#include <string>

#include "scenarios/comparison_spec.h"
#include "scenarios/input_text.h"
#include "scenarios/scenario_files.h"
#include "scenarios/scenario_spec.h"
#include "tests/support/catch.h"

namespace servetwin::docs_test {
namespace {

std::string type_text(const FieldInfo& field) {
  if (field.type == FieldType::kChoice && field.choices.size() == 1) return '`' + field.choices.front() + '`';
  return (field.list ? "list of " : "") + std::string(name_of(field.type));
}

void add_rows(const std::vector<FieldInfo>& fields, const std::string& path, std::string& table) {
  for (const FieldInfo& field : fields) {
    const std::string key = path.empty() ? field.name : path + '.' + field.name;
    if (!field.fields.empty()) {
      add_rows(field.fields, key, table);
      continue;
    }
    const std::string value =
        field.default_text == "null" || field.default_text.empty() ? "–" : '`' + field.default_text + '`';
    table += "| `" + key + "` | " + type_text(field) + " | " + (field.required ? "required" : value) + " | " +
             field.help + " |\n";
  }
}

std::string docs_page(const std::string& name) {
  return read_input(std::string(SERVETWIN_SOURCE_DIR) + "/docs/" + name);
}

// Also writes the table due into the build folder.
template <class Document>
void check_keys(const std::string& page_name, const std::string& table_name) {
  const std::string begin = "<!-- keys: begin -->\n";
  const std::string page = docs_page(page_name);
  const std::size_t start = page.find(begin);
  const std::size_t end = page.find("<!-- keys: end -->");
  REQUIRE(start != std::string::npos);
  REQUIRE(end != std::string::npos);
  std::string table;
  add_rows(describe_params<Document>(), "", table);
  std::ofstream(std::string(SERVETWIN_BINARY_DIR) + '/' + table_name) << table;
  CHECK(page.substr(start + begin.size(), end - start - begin.size()) == table);
}

TEST_CASE("the table of keys is the one that the reader's declarations give") {
  check_keys<ScenarioDocument>("scenarios.md", "scenario_keys.md");
  check_keys<ComparisonDocument>("compare.md", "comparison_keys.md");
}

TEST_CASE("every shipped scenario is listed") {
  const std::string page = docs_page("scenarios.md");
  CHECK(shipped_scenarios().size() >= 6);
  for (const std::string& name : shipped_scenarios()) {
    CAPTURE(name);
    CHECK(page.find("| `" + name + "` |") != std::string::npos);
  }
}

}  // namespace
}  // namespace servetwin::docs_test
