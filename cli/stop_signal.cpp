// The state a signal handler may touch has to be static.
#include "cli/stop_signal.h"

#include <csignal>
#include <cstdint>
#include <ctime>
#include <unistd.h>

namespace servetwin {
namespace {

volatile bool g_requested = false;
volatile std::sig_atomic_t g_signal = 0;

volatile std::int64_t g_since_ms = 0;

std::int64_t now_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

// A supervisor may send one signal twice, to the process and to its group: that is one request.
void on_signal(int signal) {
  constexpr std::int64_t kOneRequestMs = 200;
  if (g_requested && now_ms() - g_since_ms < kOneRequestMs) return;
  if (g_requested) ::_exit(128 + signal);
  g_since_ms = now_ms();
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
