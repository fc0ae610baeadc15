// How a request ends, and why it was turned away.
#pragma once

#include <cstdint>

namespace servetwin {

// Exactly one of these ends every request.
enum class EndState : std::uint8_t { kStop, kLength, kCancelled, kTimedOut, kRejected, kFailed };

inline constexpr int kNumEndStates = 6;

constexpr bool is_finished(EndState s) { return s == EndState::kStop || s == EndState::kLength; }

constexpr const char* to_string(EndState s) {
  switch (s) {
    case EndState::kStop:
      return "stop";
    case EndState::kLength:
      return "length";
    case EndState::kCancelled:
      return "cancelled";
    case EndState::kTimedOut:
      return "timed_out";
    case EndState::kRejected:
      return "rejected";
    case EndState::kFailed:
      return "failed";
  }
  return "?";
}

// Why a request was turned away or failed, for messages and counters.
enum class EndReason : std::uint8_t {
  kNone,
  kPromptTooLong,  // prompt >= max_model_len
  kNeverFits,      // the prompt needs more blocks than the pool has
  kQueueFull,
  kClient,  // the client went away
  kDeadline,
  kQueueTimeout,
  kTtftTimeout,
  kKvDeadlock,
  kReplicaLost,
  kBackend
};

constexpr const char* to_string(EndReason r) {
  switch (r) {
    case EndReason::kNone:
      return "";
    case EndReason::kPromptTooLong:
      return "prompt_too_long";
    case EndReason::kNeverFits:
      return "never_fits";
    case EndReason::kQueueFull:
      return "queue_full";
    case EndReason::kClient:
      return "client";
    case EndReason::kDeadline:
      return "deadline";
    case EndReason::kQueueTimeout:
      return "queue_timeout";
    case EndReason::kTtftTimeout:
      return "ttft_timeout";
    case EndReason::kKvDeadlock:
      return "kv_deadlock";
    case EndReason::kReplicaLost:
      return "replica_lost";
    case EndReason::kBackend:
      return "backend";
  }
  return "?";
}

}  // namespace servetwin
