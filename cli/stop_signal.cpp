// The state a signal handler may touch has to be static.
#include "cli/stop_signal.h"

#include <csignal>
#include <unistd.h>

namespace servetwin {
namespace {

volatile bool g_requested = false;
volatile std::sig_atomic_t g_signal = 0;

void on_signal(int signal) {
  if (g_requested) ::_exit(128 + signal);
  g_signal = signal;
  g_requested = true;
}

}  // namespace

void catch_stop_signals() {
  struct sigaction action {};
  action.sa_handler = &on_signal;
  ::sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

const volatile bool* stop_requested() { return &g_requested; }

int stop_signal() { return static_cast<int>(g_signal); }

}  // namespace servetwin
