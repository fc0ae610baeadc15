// Plain writes: a stream would hide why they failed.
#include "cli/terminal.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

#include "engine/base/error.h"

namespace servetwin {
namespace {

constexpr std::size_t kFlushSize = std::size_t{1} << 16;

bool set_and_not_empty(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

bool wants_colour() {
  const char* terminal = std::getenv("TERM");
  return !set_and_not_empty("NO_COLOR") && terminal != nullptr && std::strcmp(terminal, "dumb") != 0;
}

// Whether all of it was taken; `written` counts what was.
bool write_all(int descriptor, std::string_view text, std::uint64_t& written) {
  while (!text.empty()) {
    const ssize_t count = ::write(descriptor, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    written += static_cast<std::uint64_t>(count);
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

}  // namespace

void keep_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) >= 0 || errno != EBADF) continue;
    // The lowest free descriptor is this one, as those below are open.
    if (::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY) != stream) return;
  }
}

Terminal::Terminal() {
  const bool colour = wants_colour();
  const bool err_is_terminal = ::isatty(STDERR_FILENO) == 1;
  colour_out_ = colour && ::isatty(STDOUT_FILENO) == 1;
  colour_err_ = colour && err_is_terminal;
  const char* terminal = std::getenv("TERM");
  shows_progress_ = err_is_terminal && terminal != nullptr && std::strcmp(terminal, "dumb") != 0;
}

void Terminal::out(std::string_view text) {
  buffer_.append(text);
  if (buffer_.size() >= kFlushSize) flush();
}

void Terminal::flush() {
  const std::string text = std::move(buffer_);
  buffer_.clear();
  if (write_all(STDOUT_FILENO, text, written_)) return;
  throw IoError("cannot write standard output after " + std::to_string(written_) +
                " bytes: " + std::strerror(errno));
}

void Terminal::err(std::string_view text) {
  progress("");
  std::uint64_t ignored = 0;
  write_all(STDERR_FILENO, text, ignored);
}

void Terminal::progress(std::string_view line) {
  if (!shows_progress_ || (line.empty() && !line_open_)) return;
  std::uint64_t ignored = 0;
  write_all(STDERR_FILENO, "\r\x1b[K" + std::string(line), ignored);
  line_open_ = !line.empty();
}

std::string Terminal::bold(std::string_view text) const {
  return colour_out_ ? "\x1b[1m" + std::string(text) + "\x1b[0m" : std::string(text);
}

std::string Terminal::alarming(std::string_view text) const {
  return colour_err_ ? "\x1b[31m" + std::string(text) + "\x1b[0m" : std::string(text);
}

}  // namespace servetwin
