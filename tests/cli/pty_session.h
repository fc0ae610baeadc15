// The built program on a terminal of its own: keys and signals go in, the page it has drawn is read back.
#pragma once

#include <string>
#include <string_view>
#include <sys/types.h>
#include <termios.h>
#include <vector>

#include "tests/cli/program.h"

namespace servetwin::test {

class PtySession {
 public:
  // Begins in the playground's folder; `settings` are further variables of the environment, NAME=VALUE.
  PtySession(const Playground& ground,
             const std::vector<std::string>& words,
             int width,
             int height,
             const std::vector<std::string>& settings = {});
  ~PtySession();
  PtySession(const PtySession&) = delete;
  PtySession& operator=(const PtySession&) = delete;

  void press(std::string_view bytes);
  void resize(int width, int height);
  void signal(int number);
  // Whether the page comes to show the text, within a time that is far too long.
  bool shows(const std::string& part);
  // The lines that were drawn last, without emphasis and trailing blanks.
  std::string page() const;
  // All that came, as it came.
  const std::string& bytes() const { return bytes_; }
  // Waits for a child that is stopped.
  bool stops();
  // Waits for the end: the exit code, 128 + signal when one ended it.
  int ends();
  // Whether the terminal's settings are those from before the program began.
  bool is_restored() const;

 private:
  void read(int timeout_ms);

  int master_ = -1;
  int terminal_ = -1;
  pid_t child_ = -1;
  termios before_{};
  std::string bytes_;
};

}  // namespace servetwin::test
