// The sequences of xterm, which all others understand: ESC [ ... letter, ESC [ number ~, ESC O letter.
#include "cli/keyboard.h"

namespace servetwin {
namespace {

constexpr char kEscapeByte = '\x1b';

Key key_of_letter(char letter) {
  switch (letter) {
    case 'A':
      return Key::kUp;
    case 'B':
      return Key::kDown;
    case 'C':
      return Key::kRight;
    case 'D':
      return Key::kLeft;
    case 'H':
      return Key::kHome;
    case 'F':
      return Key::kEnd;
    default:
      return Key::kNone;
  }
}

Key key_of_number(char digit) {
  switch (digit) {
    case '1':
    case '7':
      return Key::kHome;
    case '4':
    case '8':
      return Key::kEnd;
    case '5':
      return Key::kPageUp;
    case '6':
      return Key::kPageDown;
    default:
      return Key::kNone;
  }
}

// Of the sequence that `bytes` begin with, 0 while it is not whole.
std::size_t sequence_size(const std::string& bytes) {
  if (bytes.size() < 3) return 0;
  if (bytes[1] == 'O') return 3;
  for (std::size_t i = 2; i < bytes.size(); ++i) {
    if (bytes[i] >= '@' && bytes[i] <= '~') return i + 1;
  }
  return 0;
}

KeyPress take(std::string& bytes, std::size_t count, Key key, char character = '\0') {
  bytes.erase(0, count);
  return {key, character};
}

}  // namespace

KeyPress take_key(std::string& bytes, bool complete) {
  if (bytes.empty()) return {};
  const char first = bytes[0];
  if (first == '\r' || first == '\n') return take(bytes, 1, Key::kEnter);
  if (first == '\x7f' || first == '\b') return take(bytes, 1, Key::kBackspace);
  if (first != kEscapeByte) {
    const bool printable = first >= ' ' && first <= '~';
    return take(bytes, 1, printable ? Key::kCharacter : Key::kNone, first);
  }
  const bool introduces = bytes.size() > 1 && (bytes[1] == '[' || bytes[1] == 'O');
  if (bytes.size() > 1 && !introduces) return take(bytes, 1, Key::kEscape);
  const std::size_t size = introduces ? sequence_size(bytes) : 0;
  if (size == 0)
    return complete ? take(bytes, bytes.size(), introduces ? Key::kNone : Key::kEscape) : KeyPress{};
  const char last = bytes[size - 1];
  return take(bytes, size, last == '~' ? key_of_number(bytes[2]) : key_of_letter(last));
}

}  // namespace servetwin
