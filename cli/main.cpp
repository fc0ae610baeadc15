// The program servetwin: words in, exit code out.
#include <csignal>

#include "cli/command_line.h"

int main(int argc, char** argv) {
  using namespace servetwin;
  // A reader that goes away is an error of writing, not the end of the process in the midst of its files.
  std::signal(SIGPIPE, SIG_IGN);
  keep_standard_streams();
  const std::vector<std::string> words(argv + 1, argv + argc);
  report_broken_invariants(words);
  Terminal terminal;
  return static_cast<int>(run_command_line(words, terminal));
}
