// Printable Latin-1 stands for itself; the other 68 bytes take the characters from U+0100 on, in order.
#include "engine/models/tokenizer/byte_alphabet.h"

#include <array>
#include <cstddef>

#include "engine/models/tokenizer/utf8.h"

namespace servetwin {
namespace {

constexpr char32_t kFirstSubstitute = 0x100;

constexpr bool stands_for_itself(unsigned byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

struct ByteLetters {
  std::array<char32_t, 256> letters{};
  std::array<int, kFirstSubstitute + 256> bytes{};  // -1: no letter
};

constexpr ByteLetters make_alphabet() {
  ByteLetters made;
  made.bytes.fill(-1);
  char32_t substitute = kFirstSubstitute;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const char32_t letter = stands_for_itself(byte) ? byte : substitute++;
    made.letters[byte] = letter;
    made.bytes[letter] = static_cast<int>(byte);
  }
  return made;
}

constexpr ByteLetters kAlphabet = make_alphabet();

}  // namespace

char32_t letter_of_byte(unsigned char byte) { return kAlphabet.letters[byte]; }

std::optional<std::string> bytes_of_letters(std::string_view token) {
  std::string bytes;
  while (!token.empty()) {
    const Utf8Step step = next_utf8(token);
    const bool in_table = step.valid && step.code_point < kAlphabet.bytes.size();
    const int byte = in_table ? kAlphabet.bytes[step.code_point] : -1;
    if (byte < 0) return std::nullopt;
    bytes += static_cast<char>(static_cast<unsigned char>(byte));
    token.remove_prefix(step.length);
  }
  return bytes;
}

}  // namespace servetwin
