// What the documents claim about the tree: tests, files, scenarios and commands that exist.
#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/style/rules.h"

namespace servetwin::style {
namespace {

// The adjacent string literals that begin at `column` of line `index`, as one; empty when none does.
std::string literal_at(const SourceFile& file, std::size_t index, std::size_t column) {
  std::string text;
  for (; index < file.lines.size(); ++index, column = 0) {
    const std::string& line = file.lines[index];
    while (true) {
      while (column < line.size() && line[column] == ' ') ++column;
      if (column >= line.size()) break;
      if (line[column] != '"') return text;
      for (++column; column < line.size() && line[column] != '"'; ++column) {
        if (line[column] == '\\') ++column;
        text += line[column];
      }
      ++column;
    }
  }
  return text;
}

// What stands between pairs of `quote` in a line.
std::vector<std::string> quoted(std::string_view line, char quote) {
  std::vector<std::string> found;
  for (std::size_t open = line.find(quote); open != std::string_view::npos;) {
    const std::size_t close = line.find(quote, open + 1);
    if (close == std::string_view::npos) break;
    found.emplace_back(line.substr(open + 1, close - open - 1));
    open = line.find(quote, close + 1);
  }
  return found;
}

// "12. …", "| 12 | …", "## 12 …" and "**I12** …" open a numbered entry.
bool opens_entry(std::string_view line) {
  if (line.starts_with("  ")) return false;
  const std::size_t at = line.find_first_not_of("#|* -I");
  if (at == std::string_view::npos || std::isdigit(static_cast<unsigned char>(line[at])) == 0) return false;
  const std::size_t end = line.find_first_not_of("0123456789", at);
  return end != std::string_view::npos && (at > 0 || line[end] == '.');
}

std::vector<std::vector<std::string>> csv_rows(const SourceFile& file) {
  std::vector<std::vector<std::string>> rows;
  for (const std::string& line : file.lines) {
    std::vector<std::string> cells(1);
    bool in_quotes = false;
    for (const char c : line) {
      if (c == '"') {
        in_quotes = !in_quotes;
      } else if (c == ',' && !in_quotes) {
        cells.emplace_back();
      } else if (c != '\r') {
        cells.back() += c;
      }
    }
    rows.push_back(std::move(cells));
  }
  return rows;
}

// The parts of a cell, which are separated by semicolons.
std::vector<std::string> parts(std::string_view cell) {
  std::vector<std::string> found;
  while (!cell.empty()) {
    const std::size_t end = std::min(cell.find(';'), cell.size());
    const std::string_view part = trimmed(cell.substr(0, end));
    if (!part.empty()) found.emplace_back(part);
    cell.remove_prefix(std::min(end + 1, cell.size()));
  }
  return found;
}

bool exists(const Tree& tree, const std::string& path) {
  return std::any_of(tree.begin(), tree.end(), [&](const SourceFile& file) {
    return file.path == path || file.path.starts_with(path.ends_with("/") ? path : path + "/");
  });
}

bool is_our_command(std::string_view line) {
  line = trimmed(line);
  if (line.starts_with("$ ")) line.remove_prefix(2);
  static const std::vector<std::string> kPrograms{"servetwin ", "build/release/servetwin ", "./tools/",
                                                  "tools/"};
  return starts_with_any(line, kPrograms);
}

void check_fences(const SourceFile& file, bool is_run, Findings& findings) {
  bool inside = false;
  std::string language;
  for (std::size_t i = 0; i < file.lines.size(); ++i) {
    const std::string_view line = trimmed(file.lines[i]);
    if (line.starts_with("```")) {
      inside = !inside;
      language = trimmed(line.substr(3));
    } else if (inside && language != "text" && is_our_command(line) && (language != "sh" || !is_run)) {
      findings.push_back(
          {file.path, i + 1, "a command that tests/docs does not run: mark the block ```sh or ```text"});
    }
  }
}

// Both worlds, only the simulated one, less than that, nothing yet.
const std::set<std::string> kGlossaryStates{"done", "simulation", "partial", "planned"};

}  // namespace

std::set<std::string> test_case_names(const Tree& tree) {
  static const std::string kMacro = "TEST_CASE(";
  std::set<std::string> names;
  for (const SourceFile& file : tree) {
    if (!is_cpp(file.path) || !file.path.starts_with("tests/")) continue;
    for (std::size_t i = 0; i < file.code.size(); ++i) {
      const std::size_t at = file.code[i].find(kMacro);
      if (at != std::string::npos) names.insert(literal_at(file, i, at + kMacro.size()));
    }
  }
  return names;
}

Findings invariant_findings(const Tree& tree) {
  Findings findings;
  const SourceFile* page = find_file(tree, "docs/invariants.md");
  if (page == nullptr) return findings;
  const std::set<std::string> tests = test_case_names(tree);
  for (std::size_t i = 0; i < page->lines.size(); ++i) {
    if (!opens_entry(page->lines[i])) continue;
    bool named = false;
    std::size_t end = i;
    do {
      for (const char quote : {'"', '`'}) {
        for (const std::string& text : quoted(page->lines[end], quote)) named = named || tests.contains(text);
      }
      ++end;
    } while (end < page->lines.size() && !opens_entry(page->lines[end]));
    if (!named) findings.push_back({page->path, i + 1, "names no test case that exists: " + page->lines[i]});
  }
  return findings;
}

Findings scenario_findings(const Tree& tree) {
  Findings findings;
  const SourceFile* page = find_file(tree, "docs/scenarios.md");
  if (page == nullptr) return findings;
  for (const SourceFile& file : tree) {
    if (!file.path.starts_with("scenarios/") || !file.path.ends_with(".yaml")) continue;
    const std::size_t start = file.path.rfind('/') + 1;
    const std::string name = file.path.substr(start, file.path.rfind('.') - start);
    const bool listed = std::any_of(page->lines.begin(), page->lines.end(),
                                    [&](const auto& line) { return line.find(name) != std::string::npos; });
    if (!listed) findings.push_back({file.path, 0, "is not named in docs/scenarios.md"});
  }
  return findings;
}

Findings glossary_findings(const Tree& tree) {
  Findings findings;
  const SourceFile* page = find_file(tree, "docs/glossary.csv");
  if (page == nullptr) return findings;
  const std::set<std::string> tests = test_case_names(tree);
  const auto rows = csv_rows(*page);
  const auto column = [&](std::string_view name) {
    return static_cast<std::size_t>(std::find(rows[0].begin(), rows[0].end(), name) - rows[0].begin());
  };
  const std::size_t file = column("file");
  const std::size_t test = column("test");
  const std::size_t status = column("status");
  for (std::size_t i = 1; i < rows.size(); ++i) {
    if (std::max({file, test, status}) >= rows[i].size()) {
      findings.push_back({page->path, i + 1, "needs the columns file, test and status"});
      continue;
    }
    for (const std::string& path : parts(rows[i][file])) {
      if (!exists(tree, path)) findings.push_back({page->path, i + 1, "no such file: " + path});
    }
    for (const std::string& name : parts(rows[i][test])) {
      if (!tests.contains(name)) findings.push_back({page->path, i + 1, "no such test case: " + name});
    }
    const std::string& state = rows[i][status];
    if (!kGlossaryStates.contains(state)) {
      findings.push_back({page->path, i + 1, "no such status: " + state});
    } else if (state != "planned" && (parts(rows[i][file]).empty() || parts(rows[i][test]).empty())) {
      findings.push_back({page->path, i + 1, "is " + state + " without a file or without a test"});
    }
  }
  return findings;
}

Findings command_findings(const Tree& tree) {
  Findings findings;
  for (const SourceFile& file : tree) {
    if (!file.path.ends_with(".md")) continue;
    const bool in_docs = file.path.starts_with("docs/") && file.path.find('/', 5) == std::string::npos;
    check_fences(file, in_docs || file.path == "README.md", findings);
  }
  return findings;
}

}  // namespace servetwin::style
