// Lines of text with emphasis, measured in characters and fitted into columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace servetwin {

enum class TextStyle : std::uint8_t { kPlain, kTitle, kFollowed, kAlarm };

struct StyledText {
  std::string text;
  TextStyle style = TextStyle::kPlain;
};

using StyledLine = std::vector<StyledText>;

// Characters of UTF-8 text.
std::size_t width_of(std::string_view text);
std::size_t width_of(const StyledLine& line);
// At most `width` characters of it.
StyledLine clipped(const StyledLine& line, std::size_t width);
// The right line begins at character `column`; what of the left one would reach it is left out.
StyledLine beside(const StyledLine& left, const StyledLine& right, std::size_t column);
// Broken between words; lines after the first begin with `indent` blanks.
std::vector<std::string> wrapped(const std::string& text, std::size_t width, std::size_t indent);
// Without trailing blanks; with `styles`, emphasis as terminals take it.
std::string to_text(const StyledLine& line, bool styles);

}  // namespace servetwin
