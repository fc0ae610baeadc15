// The terminal's own side stays open here, so that its settings can be read when the program has gone.
#include "tests/cli/pty_session.h"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <poll.h>
#include <pty.h>
#include <stdexcept>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utmp.h>

namespace servetwin::test {
namespace {

constexpr std::chrono::seconds kFarTooLong{20};

using Clock = std::chrono::steady_clock;

[[noreturn]] void begin(const std::string& folder,
                        const std::vector<std::string>& words,
                        const std::vector<std::string>& settings) {
  if (::chdir(folder.c_str()) != 0) ::_exit(126);
  ::setenv("TERM", "xterm", 1);
  ::unsetenv("NO_COLOR");
  for (const std::string& setting : settings) ::putenv(::strdup(setting.c_str()));
  std::string program = SERVETWIN_PROGRAM;
  std::vector<char*> arguments{program.data()};
  std::vector<std::string> copies = words;
  for (std::string& word : copies) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execv(SERVETWIN_PROGRAM, arguments.data());
  ::_exit(127);
}

// Leaves out what is no text: ESC [ ... letter.
std::string without_sequences(std::string_view text) {
  std::string kept;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\r') continue;
    if (text[i] != '\x1b') {
      kept += text[i];
      continue;
    }
    for (i += 2; i < text.size() && (text[i] < '@' || text[i] > '~');) ++i;
  }
  return kept;
}

}  // namespace

PtySession::PtySession(const Playground& ground,
                       const std::vector<std::string>& words,
                       int width,
                       int height,
                       const std::vector<std::string>& settings) {
  winsize size{};
  size.ws_col = static_cast<unsigned short>(width);
  size.ws_row = static_cast<unsigned short>(height);
  if (::openpty(&master_, &terminal_, nullptr, nullptr, &size) != 0)
    throw std::runtime_error("no terminal for the test");
  ::tcgetattr(terminal_, &before_);
  child_ = ::fork();
  if (child_ == 0) {
    ::close(master_);
    if (::login_tty(terminal_) != 0) ::_exit(125);
    begin(ground.path(), words, settings);
  }
}

PtySession::~PtySession() {
  if (child_ > 0) {
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }
  ::close(terminal_);
  ::close(master_);
}

void PtySession::press(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(master_, bytes.data(), bytes.size());
    if (count <= 0) throw std::runtime_error("the terminal takes no keys");
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

void PtySession::resize(int width, int height) {
  winsize size{};
  size.ws_col = static_cast<unsigned short>(width);
  size.ws_row = static_cast<unsigned short>(height);
  ::ioctl(master_, TIOCSWINSZ, &size);
}

void PtySession::signal(int number) { ::kill(child_, number); }

void PtySession::read(int timeout_ms) {
  pollfd output{master_, POLLIN, 0};
  if (::poll(&output, 1, timeout_ms) <= 0) return;
  char buffer[4096];
  const ssize_t count = ::read(master_, buffer, sizeof buffer);
  if (count > 0) bytes_.append(buffer, static_cast<std::size_t>(count));
}

bool PtySession::shows(const std::string& part) {
  for (const auto begin = Clock::now(); Clock::now() - begin < kFarTooLong;) {
    if (contains(page(), part)) return true;
    read(20);
  }
  return false;
}

std::string PtySession::page() const {
  const std::size_t begin = bytes_.rfind("\x1b[H");
  return begin == std::string::npos ? "" : without_sequences(std::string_view(bytes_).substr(begin));
}

bool PtySession::stops() {
  for (const auto begin = Clock::now(); Clock::now() - begin < kFarTooLong;) {
    int status = 0;
    read(20);
    if (::waitpid(child_, &status, WNOHANG | WUNTRACED) == child_) return WIFSTOPPED(status);
  }
  return false;
}

int PtySession::ends() {
  for (const auto begin = Clock::now(); Clock::now() - begin < kFarTooLong;) {
    int status = 0;
    read(20);
    if (::waitpid(child_, &status, WNOHANG) != child_) continue;
    child_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  return -1;
}

bool PtySession::is_restored() const {
  termios now{};
  ::tcgetattr(terminal_, &now);
  return now.c_iflag == before_.c_iflag && now.c_oflag == before_.c_oflag && now.c_cflag == before_.c_cflag &&
         now.c_lflag == before_.c_lflag && std::memcmp(now.c_cc, before_.c_cc, sizeof now.c_cc) == 0;
}

}  // namespace servetwin::test
