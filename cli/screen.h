// The whole terminal for a program that draws and reads keys, and the terminal as it was when that ends,
// whatever ends it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/keyboard.h"
#include "cli/styled_text.h"

namespace servetwin {

// Gives the terminal back if somebody has it: for those that end the process without unwinding. Safe in
// signal handlers.
void leave_screen();

// One at a time. Standard input and output must be terminals.
class Screen {
 public:
  struct Size {
    std::size_t width = 0;
    std::size_t height = 0;
  };

  // Whether there is one to have: both streams are terminals, and TERM is one that can be drawn on.
  static bool available();

  Screen();
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  Size size() const;
  void draw(const std::vector<StyledLine>& lines, bool styles);
  // Waits for a key, at most so long; forever when negative. Signals come only in here.
  KeyPress wait(int timeout_ms);
  // What kStopped was: the signal's number, or SIGHUP where the terminal is gone.
  int stop_signal() const;

 private:
  std::string bytes_;  // read and not yet taken
};

}  // namespace servetwin
