// The tree the style rules read: the project's own text files, or a small one made up in memory by a test.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace servetwin::style {

struct SourceFile {
  std::string path;                // from the root, with forward slashes
  std::vector<std::string> lines;  // as written
  std::vector<std::string> code;   // the same lines, comments and the insides of literals blanked (C++ only)
};

using Tree = std::vector<SourceFile>;

// Something a rule refuses; lines count from 1, 0 means the file as a whole.
struct Finding {
  std::string path;
  std::size_t line = 0;
  std::string message;
};

using Findings = std::vector<Finding>;

SourceFile make_file(std::string path, std::string_view text);

// Every text file under `root` but version control, build and run folders and binary files.
Tree read_tree(const std::string& root);

// The file of that path, or nullptr.
const SourceFile* find_file(const Tree& tree, std::string_view path);

bool starts_with_any(std::string_view path, const std::vector<std::string>& prefixes);
bool is_cpp(std::string_view path);
bool is_header(std::string_view path);
bool is_identifier_char(char c);

// Where `word` stands in `line` at or after `from` as a whole word, or npos. A * at an end lets the word go
// on there.
std::size_t find_word(std::string_view line, std::string_view word, std::size_t from = 0);
std::string_view trimmed(std::string_view text);

// "path:line: message" for each, one a line.
std::string to_string(const Findings& findings);

}  // namespace servetwin::style
