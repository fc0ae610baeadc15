// UTF-8 a step at a time: what tokenizers and detokenizers need to know of bytes that may be broken.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace servetwin {

inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";  // U+FFFD

struct Utf8Step {
  char32_t code_point = 0;  // where valid
  std::size_t length = 0;   // bytes of the character, or of the longest start of one that goes no further
  bool valid = false;
  bool incomplete = false;  // the text ends inside a character that more bytes could complete
};

// The first step of a text that is not empty.
Utf8Step next_utf8(std::string_view text);

void append_utf8(std::string& out, char32_t code_point);

// The text with U+FFFD for each broken part: one for the longest start of a character, as the Unicode
// standard recommends and Rust and Python do.
std::string repaired_utf8(std::string_view text);

// White_Space of the Unicode standard.
bool is_white_space(char32_t code_point);

}  // namespace servetwin
