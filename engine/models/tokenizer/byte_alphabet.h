// The printable alphabet of byte-level vocabularies: GPT-2 writes each byte as one visible character.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace servetwin {

// The character that stands for a byte.
char32_t letter_of_byte(unsigned char byte);

// The bytes that a token's letters stand for; nothing when a character is no letter of this alphabet.
std::optional<std::string> bytes_of_letters(std::string_view token);

}  // namespace servetwin
