// Size and shape: lines per file and function, columns, and the comment that opens each file.
#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "tests/style/rules.h"

namespace servetwin::style {
namespace {

constexpr std::size_t kMaxColumns = 110;
constexpr std::size_t kMaxFunctionLines = 70;
constexpr std::size_t kMaxRoleLines = 3;

bool is_plug_in(const SourceFile& file) {
  return std::any_of(file.code.begin(), file.code.end(),
                     [](const auto& line) { return line.find("const Registered<") != std::string::npos; });
}

// Lines a file may have; 0 means as many as it likes.
std::size_t line_budget(const SourceFile& file) {
  if (!is_cpp(file.path)) return 0;
  if (file.path.starts_with("tests/")) return 500;
  if (is_header(file.path) || is_plug_in(file)) return 150;
  return 400;
}

std::size_t columns(std::string_view line) {
  const auto starts_a_character = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; };
  return static_cast<std::size_t>(std::count_if(line.begin(), line.end(), starts_a_character));
}

bool holds(std::string_view text, std::string_view word) { return find_word(text, word) != text.npos; }

// Finds function bodies by their braces: a brace at namespace or class level that opens neither of those nor
// data.
class FunctionFinder {
 public:
  FunctionFinder(const SourceFile& file, Findings& findings) : file_(file), findings_(findings) {}

  void run() {
    for (line_ = 0; line_ < file_.code.size(); ++line_) {
      if (trimmed(file_.code[line_]).starts_with("#")) continue;
      for (const char c : file_.code[line_]) take(c);
      head_ += ' ';
    }
  }

 private:
  enum class Kind { scope, body, other };
  struct Open {
    Kind kind;
    std::size_t line;
  };

  void take(char c) {
    if (c == '{') {
      open_.push_back({kind_of_head(), head_line_});
      head_.clear();
    } else if (c == '}') {
      close();
      head_.clear();
    } else if (c == ';') {
      head_.clear();
    } else {
      if (trimmed(head_).empty() && c != ' ') head_line_ = line_;
      head_ += c;
    }
  }

  Kind kind_of_head() const {
    const bool at_scope =
        std::all_of(open_.begin(), open_.end(), [](const Open& o) { return o.kind == Kind::scope; });
    if (!at_scope) return Kind::other;
    const std::string_view head = trimmed(head_);
    const bool has_parameters = head.find('(') != std::string_view::npos;
    if (holds(head, "namespace") || holds(head, "extern")) return Kind::scope;
    const bool names_type = holds(head, "class") || holds(head, "struct") || holds(head, "union");
    if (names_type && !has_parameters) return Kind::scope;
    return has_parameters || head.empty() || head.starts_with(",") ? Kind::body : Kind::other;
  }

  void close() {
    if (open_.empty()) return;
    const Open closed = open_.back();
    open_.pop_back();
    const std::size_t length = line_ - closed.line + 1;
    if (closed.kind != Kind::body || length <= kMaxFunctionLines) return;
    findings_.push_back(
        {file_.path, closed.line + 1,
         "a function of " + std::to_string(length) + " lines; at most " + std::to_string(kMaxFunctionLines)});
  }

  const SourceFile& file_;
  Findings& findings_;
  std::vector<Open> open_;
  std::string head_;
  std::size_t head_line_ = 0;
  std::size_t line_ = 0;
};

void check_columns(const SourceFile& file, Findings& findings) {
  for (std::size_t i = 0; i < file.lines.size(); ++i) {
    const std::size_t count = columns(file.lines[i]);
    if (count <= kMaxColumns) continue;
    findings.push_back(
        {file.path, i + 1, std::to_string(count) + " columns; at most " + std::to_string(kMaxColumns)});
  }
}

// What a comment line begins with in this file, or empty when the format has no comments or opens otherwise.
std::string comment_mark(std::string_view path) {
  if (path.ends_with(".in")) path.remove_suffix(3);
  if (is_cpp(path)) return "//";
  const std::string_view name = path.substr(path.rfind('/') + 1);
  const bool script = path.starts_with("tools/") || path.starts_with(".ci/");
  const bool dotted = name == ".gitignore" || name == ".clang-format" || name == ".clang-tidy";
  static const std::vector<std::string> kEndings{".cmake", ".yaml", ".yml", ".sh", ".py", ".awk"};
  const bool known =
      std::any_of(kEndings.begin(), kEndings.end(), [&](const auto& e) { return name.ends_with(e); });
  return script || dotted || known || name == "CMakeLists.txt" || name == "Dockerfile" ? "#" : "";
}

void check_role(const SourceFile& file, const std::string& mark, Findings& findings) {
  std::size_t first = !file.lines.empty() && file.lines[0].starts_with("#!") ? 1 : 0;
  std::size_t end = first;
  while (end < file.lines.size() && file.lines[end].starts_with(mark)) ++end;
  const auto paragraph = std::find(file.lines.begin() + static_cast<std::ptrdiff_t>(first),
                                   file.lines.begin() + static_cast<std::ptrdiff_t>(end), mark);
  const auto length = static_cast<std::size_t>(paragraph - file.lines.begin()) - first;
  if (length == 0 || length > kMaxRoleLines) {
    findings.push_back({file.path, first + 1,
                        "opens with one to three comment lines on its role, not " + std::to_string(length)});
  }
  const bool is_guarded = end < file.lines.size() && file.lines[end] == "#pragma once";
  if (is_header(file.path) && !is_guarded) {
    findings.push_back({file.path, end + 1, "#pragma once follows the opening comment of a header"});
  }
}

}  // namespace

Findings budget_findings(const Tree& tree) {
  Findings findings;
  for (const SourceFile& file : tree) {
    if (comment_mark(file.path).empty()) continue;
    const std::size_t budget = line_budget(file);
    if (budget != 0 && file.lines.size() > budget) {
      findings.push_back(
          {file.path, 0, std::to_string(file.lines.size()) + " lines; at most " + std::to_string(budget)});
    }
    check_columns(file, findings);
    if (is_cpp(file.path)) FunctionFinder(file, findings).run();
  }
  return findings;
}

Findings namespace_findings(const Tree& tree) {
  Findings findings;
  for (const SourceFile& file : tree) {
    if (!file.path.starts_with("tests/") || !file.path.ends_with(".cpp")) continue;
    const std::size_t name = file.path.rfind('/') + 1;
    const std::string stem = file.path.substr(name, file.path.size() - name - 4);
    const auto has = [&](auto&& matches) { return std::any_of(file.code.begin(), file.code.end(), matches); };
    if (!has([](const std::string& line) { return line.starts_with("TEST_CASE("); })) continue;
    if (has([&](const std::string& line) {
          return line.starts_with("namespace servetwin::") &&
                 (line.ends_with("::" + stem + " {") || line.ends_with("::test_" + stem + " {"));
        })) {
      continue;
    }
    findings.push_back({file.path, 0, "its cases stand in no namespace named after the file"});
  }
  return findings;
}

Findings role_findings(const Tree& tree) {
  Findings findings;
  for (const SourceFile& file : tree) {
    const std::string mark = comment_mark(file.path);
    if (!mark.empty()) check_role(file, mark, findings);
  }
  return findings;
}

}  // namespace servetwin::style
