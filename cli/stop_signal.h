// SIGINT and SIGTERM: the first asks the run to end at the next event, the second ends the process.
#pragma once

namespace servetwin {

// Catches both from now on.
void catch_stop_signals();
// Becomes true with the first signal.
const volatile bool* stop_requested();
// That signal's number, 0 before it.
int stop_signal();

}  // namespace servetwin
