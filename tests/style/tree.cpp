// Reads the tree and blanks what is not code, so that a rule about code is not triggered by a comment.
#include "tests/style/tree.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

namespace servetwin::style {
namespace {

std::vector<std::string> split_lines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

// Blanks comments and the insides of literals, character by character; line ends stay where they are.
class Blanker {
 public:
  explicit Blanker(std::string text) : text_(std::move(text)) {}

  std::string run() {
    while (at_ < text_.size()) step();
    return std::move(text_);
  }

 private:
  bool ahead(std::string_view token) const {
    return std::string_view(text_).substr(at_, token.size()) == token;
  }

  void blank_to(std::size_t end) {
    for (end = std::min(end, text_.size()); at_ < end; ++at_) {
      if (text_[at_] != '\n') text_[at_] = ' ';
    }
  }

  void step() {
    const bool after_name = at_ > 0 && is_identifier_char(text_[at_ - 1]);
    if (ahead("//")) {
      blank_to(text_.find('\n', at_));
    } else if (ahead("/*")) {
      const std::size_t end = text_.find("*/", at_ + 2);
      blank_to(end == std::string::npos ? end : end + 2);
    } else if (ahead("R\"") && !after_name) {
      raw_string();
    } else if (ahead("\"") || (ahead("'") && !after_name)) {
      literal(text_[at_]);
    } else {
      ++at_;
    }
  }

  void raw_string() {
    const std::size_t open = text_.find('(', at_);
    const std::string close = ")" + text_.substr(at_ + 2, open - at_ - 2) + "\"";
    at_ += 2;
    const std::size_t end = text_.find(close, at_);
    blank_to(end == std::string::npos ? end : end + close.size() - 1);
    ++at_;
  }

  void literal(char quote) {
    std::size_t end = at_ + 1;
    while (end < text_.size() && text_[end] != quote && text_[end] != '\n')
      end += text_[end] == '\\' ? 2U : 1U;
    ++at_;
    blank_to(end);
    ++at_;
  }

  std::string text_;
  std::size_t at_ = 0;
};

bool is_left_out(const std::filesystem::path& path) {
  static const std::vector<std::string> kFolders{".git", "build", "runs", "__pycache__", ".cache"};
  const std::string name = path.filename().string();
  return std::find(kFolders.begin(), kFolders.end(), name) != kFolders.end();
}

}  // namespace

SourceFile make_file(std::string path, std::string_view text) {
  SourceFile file{std::move(path), split_lines(text), {}};
  file.code = is_cpp(file.path) ? split_lines(Blanker(std::string(text)).run()) : file.lines;
  return file;
}

Tree read_tree(const std::string& root) {
  Tree tree;
  for (std::filesystem::recursive_directory_iterator walk(root), end; walk != end; ++walk) {
    if (walk->is_directory() && is_left_out(walk->path())) {
      walk.disable_recursion_pending();
    } else if (walk->is_regular_file()) {
      std::ifstream stream(walk->path(), std::ios::binary);
      const std::string text(std::istreambuf_iterator<char>(stream), {});
      if (text.find('\0') != std::string::npos) continue;
      tree.push_back(make_file(std::filesystem::relative(walk->path(), root).generic_string(), text));
    }
  }
  std::sort(tree.begin(), tree.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  return tree;
}

const SourceFile* find_file(const Tree& tree, std::string_view path) {
  const auto found =
      std::find_if(tree.begin(), tree.end(), [&](const auto& file) { return file.path == path; });
  return found == tree.end() ? nullptr : &*found;
}

bool starts_with_any(std::string_view path, const std::vector<std::string>& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](const auto& prefix) { return path.starts_with(prefix); });
}

bool is_header(std::string_view path) { return path.ends_with(".h") || path.ends_with(".cuh"); }

bool is_cpp(std::string_view path) {
  return is_header(path) || path.ends_with(".cpp") || path.ends_with(".cu");
}

bool is_identifier_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::size_t find_word(std::string_view line, std::string_view word, std::size_t from) {
  const bool open_start = word.starts_with("*");
  const bool open_end = word.ends_with("*");
  const std::string_view core = word.substr(open_start ? 1 : 0, word.size() - open_start - open_end);
  for (std::size_t at = line.find(core, from); at != std::string_view::npos; at = line.find(core, at + 1)) {
    const std::size_t end = at + core.size();
    const bool starts =
        open_start || at == 0 || !is_identifier_char(line[at - 1]) || !is_identifier_char(core[0]);
    const bool ends =
        open_end || end == line.size() || !is_identifier_char(line[end]) || !is_identifier_char(core.back());
    if (starts && ends) return at;
  }
  return std::string_view::npos;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t start = text.find_first_not_of(" \t\r");
  if (start == std::string_view::npos) return {};
  return text.substr(start, text.find_last_not_of(" \t\r") - start + 1);
}

std::string to_string(const Findings& findings) {
  std::string text;
  for (const Finding& finding : findings) {
    text += finding.path + ":" + std::to_string(finding.line) + ": " + finding.message + "\n";
  }
  return text;
}

}  // namespace servetwin::style
