// What signal handlers touch has to be static. Signals are blocked outside of wait(), so that none is lost
// between looking and waiting.
#include "cli/screen.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <poll.h>
#include <string_view>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "engine/base/error.h"

namespace servetwin {
namespace {

constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?25l\x1b[H\x1b[2J";
constexpr std::string_view kLeave = "\x1b[0m\x1b[?25h\x1b[?1049l";
constexpr int kEscapeWait_ms = 40;  // for the rest of a sequence

termios g_saved{};
sigset_t g_mask;  // before
volatile std::sig_atomic_t g_active = 0;
volatile std::sig_atomic_t g_stop = 0;
volatile std::sig_atomic_t g_redraw = 0;
volatile std::sig_atomic_t g_suspend = 0;

// False when the terminal takes no more.
bool write_all(std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(STDOUT_FILENO, text.data(), text.size());
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

void enter_screen() {
  termios raw = g_saved;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | IEXTEN);
  raw.c_iflag &= ~static_cast<tcflag_t>(IXON);
  raw.c_cc[VMIN] = 1;
  raw.c_cc[VTIME] = 0;
  g_active = 1;
  ::tcsetattr(STDIN_FILENO, TCSANOW, &raw);
  write_all(kEnter);
}

void on_signal(int signal) {
  if (signal == SIGWINCH || signal == SIGCONT) {
    g_redraw = 1;
  } else if (signal == SIGTSTP) {
    g_suspend = 1;
  } else {
    g_stop = signal;
  }
}

void on_crash(int signal) {
  leave_screen();
  std::signal(signal, SIG_DFL);
  ::raise(signal);
}

constexpr int kAwaited[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGCONT, SIGTSTP};
constexpr int kCrashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

void handle(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  ::sigfillset(&action.sa_mask);
  ::sigaction(signal, &action, nullptr);
}

void take_signals() {
  sigset_t awaited;
  ::sigemptyset(&awaited);
  for (const int signal : kAwaited) ::sigaddset(&awaited, signal);
  ::sigprocmask(SIG_BLOCK, &awaited, &g_mask);
  for (const int signal : kAwaited) handle(signal, &on_signal);
  for (const int signal : kCrashes) handle(signal, &on_crash);
}

void give_signals_back() {
  for (const int signal : kAwaited) std::signal(signal, SIG_DFL);
  for (const int signal : kCrashes) std::signal(signal, SIG_DFL);
  ::sigprocmask(SIG_SETMASK, &g_mask, nullptr);
}

void suspend() {
  leave_screen();
  ::raise(SIGSTOP);
  enter_screen();
}

// What a signal asked for meanwhile.
Key pending() {
  if (g_stop != 0) return Key::kStopped;
  if (g_suspend != 0) {
    g_suspend = 0;
    suspend();
    g_redraw = 1;
  }
  if (g_redraw == 0) return Key::kNone;
  g_redraw = 0;
  return Key::kRedraw;
}

}  // namespace

void leave_screen() {
  if (g_active == 0) return;
  g_active = 0;
  write_all(kLeave);
  ::tcsetattr(STDIN_FILENO, TCSANOW, &g_saved);
}

bool Screen::available() {
  const char* terminal = std::getenv("TERM");
  return ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1 && terminal != nullptr &&
         *terminal != '\0' && std::strcmp(terminal, "dumb") != 0;
}

Screen::Screen() {
  if (::tcgetattr(STDIN_FILENO, &g_saved) != 0)
    throw IoError(std::string("cannot read the terminal's settings: ") + std::strerror(errno));
  g_stop = 0;
  g_redraw = 0;
  g_suspend = 0;
  take_signals();
  enter_screen();
}

Screen::~Screen() {
  leave_screen();
  give_signals_back();
}

Screen::Size Screen::size() const {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return {80, 24};
  return {size.ws_col, size.ws_row};
}

// A line is wiped before it is written: behind a full one the cursor would still stand on its last character.
void Screen::draw(const std::vector<StyledLine>& lines, bool styles) {
  const Size size = this->size();
  std::string text = "\x1b[H";
  for (std::size_t i = 0; i < size.height; ++i) {
    text += i == 0 ? "\x1b[K" : "\r\n\x1b[K";
    if (i < lines.size()) text += to_text(clipped(lines[i], size.width), styles);
  }
  if (!write_all(text)) g_stop = SIGHUP;
}

KeyPress Screen::wait(int timeout_ms) {
  while (true) {
    if (const Key key = pending(); key != Key::kNone) return {key};
    const KeyPress press = take_key(bytes_, false);
    if (press.key != Key::kNone) return press;
    const bool begun = !bytes_.empty();
    const int limit_ms = begun ? kEscapeWait_ms : timeout_ms;
    const timespec limit{limit_ms / 1000, limit_ms % 1000 * 1'000'000L};
    pollfd input{STDIN_FILENO, POLLIN, 0};
    const int ready = ::ppoll(&input, 1, limit_ms < 0 ? nullptr : &limit, &g_mask);
    if (ready < 0 && errno != EINTR) g_stop = SIGHUP;
    if (ready < 0) continue;
    if (ready == 0 && !begun) return {};
    if (ready == 0) return take_key(bytes_, true);
    char buffer[64];
    const ssize_t count = ::read(STDIN_FILENO, buffer, sizeof buffer);
    if (count > 0) bytes_.append(buffer, static_cast<std::size_t>(count));
    if (count == 0 || (count < 0 && errno != EINTR && errno != EAGAIN)) g_stop = SIGHUP;
  }
}

int Screen::stop_signal() const { return static_cast<int>(g_stop); }

}  // namespace servetwin
