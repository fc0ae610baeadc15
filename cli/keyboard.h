// Keys from the bytes that terminals send for them.
#pragma once

#include <cstdint>
#include <string>

namespace servetwin {

enum class Key : std::uint8_t {
  kNone,  // nothing yet, or nothing known
  kCharacter,
  kLeft,
  kRight,
  kUp,
  kDown,
  kHome,
  kEnd,
  kPageUp,
  kPageDown,
  kEnter,
  kBackspace,
  kEscape,
  kRedraw,  // the terminal has another size, or is ours again
  kStopped  // a signal asks the program to end, or the terminal is gone
};

struct KeyPress {
  Key key = Key::kNone;
  char character = '\0';  // of kCharacter
};

// Takes the first key off `bytes`. What may be the beginning of a longer one is left, unless `complete` says
// that no more will come.
KeyPress take_key(std::string& bytes, bool complete);

}  // namespace servetwin
