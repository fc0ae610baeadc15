// Clipping and wrapping count characters, not bytes.
#include "cli/styled_text.h"

#include <algorithm>

namespace servetwin {
namespace {

bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }

std::string_view first_characters(std::string_view text, std::size_t count) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!begins_character(text[i])) continue;
    if (count == 0) return text.substr(0, i);
    --count;
  }
  return text;
}

const char* code_of(TextStyle style) {
  switch (style) {
    case TextStyle::kPlain:
      return "";
    case TextStyle::kTitle:
      return "\x1b[1m";
    case TextStyle::kFollowed:
      return "\x1b[7m";
    case TextStyle::kAlarm:
      return "\x1b[31m";
  }
  return "";
}

}  // namespace

std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), &begins_character));
}

std::size_t width_of(const StyledLine& line) {
  std::size_t width = 0;
  for (const StyledText& part : line) width += width_of(part.text);
  return width;
}

StyledLine clipped(const StyledLine& line, std::size_t width) {
  StyledLine kept;
  for (const StyledText& part : line) {
    kept.push_back({std::string(first_characters(part.text, width)), part.style});
    width -= std::min(width, width_of(part.text));
  }
  return kept;
}

StyledLine beside(const StyledLine& left, const StyledLine& right, std::size_t column) {
  StyledLine both = clipped(left, column == 0 ? 0 : column - 1);
  both.push_back({std::string(column - width_of(both), ' ')});
  both.insert(both.end(), right.begin(), right.end());
  return both;
}

std::vector<std::string> wrapped(const std::string& text, std::size_t width, std::size_t indent) {
  std::vector<std::string> lines;
  std::string rest = text;
  while (width_of(rest) > width) {
    const std::string_view head = first_characters(rest, width + 1);
    const std::size_t blank = head.rfind(' ');
    const bool has_word = blank != std::string::npos && rest.find_first_not_of(' ') < blank;
    const std::size_t end = has_word ? blank : first_characters(rest, std::max<std::size_t>(width, 1)).size();
    lines.push_back(rest.substr(0, end));
    rest = std::string(indent < width ? indent : 0, ' ') + rest.substr(has_word ? end + 1 : end);
    if (indent + 1 >= width) break;  // too narrow: the rest is clipped
  }
  lines.push_back(rest);
  return lines;
}

std::string to_text(const StyledLine& line, bool styles) {
  std::string text;
  for (const StyledText& part : line) {
    if (!styles || part.style == TextStyle::kPlain || part.text.empty()) {
      text += part.text;
    } else {
      text += code_of(part.style) + part.text + "\x1b[0m";
    }
  }
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

}  // namespace servetwin
