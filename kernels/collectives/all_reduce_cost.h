// What a rank sends in an all-reduce.
#pragma once

namespace servetwin {

// Ring, or reduce-scatter and all-gather to all peers at once: both send 2 (n − 1) / n of the message.
constexpr double all_reduce_sent_bytes(double message_bytes, double ranks) {
  return 2.0 * (ranks - 1.0) / ranks * message_bytes;
}

}  // namespace servetwin
