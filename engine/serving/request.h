// What the core may know of a request before it runs. True output lengths and token values stay behind the
// backend.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/ids.h"
#include "engine/base/time.h"
#include "engine/base/units.h"
#include "engine/serving/end_state.h"

namespace servetwin {

// The first `length` tokens of the token stream named `stream`. Equal streams hold equal tokens, so two
// prompts that begin with the same segments share a prefix. Streams with the top bit set belong to the core
// (private text).
struct ContentSegment {
  std::uint64_t stream = 0;
  Tokens length{};
};

// What must happen before a request may be scheduled; a set of bits.
enum class WaitsFor : std::uint8_t {
  kNothing = 0,
  kTokenised = 1,  // front-end work; the request is not routed before it
  kGrammar = 2,    // compiled by the backend
  kRemoteKv = 4,   // KV from elsewhere
  kAdapter = 8,    // LoRA weights
  kStreamInput = 16
};

constexpr WaitsFor operator|(WaitsFor a, WaitsFor b) {
  return static_cast<WaitsFor>(static_cast<std::uint8_t>(a) | static_cast<std::uint8_t>(b));
}

constexpr bool has(WaitsFor set, WaitsFor bit) {
  return (static_cast<std::uint8_t>(set) & static_cast<std::uint8_t>(bit)) != 0;
}

constexpr WaitsFor without(WaitsFor set, WaitsFor bit) {
  return static_cast<WaitsFor>(static_cast<std::uint8_t>(set) & ~static_cast<unsigned>(bit));
}

// Immutable data of a request, put into the RequestTable before its Arrived event.
struct RequestSpec {
  RequestId id = kNoRequest;
  ClassId traffic_class{0};
  std::uint8_t stat_group = 0;  // gaps between tokens are pooled per group (< kMaxStatGroups)
  WaitsFor waits_for = WaitsFor::kNothing;
  // Generated tokens continue the last segment's stream (a later turn's prompt repeats them); otherwise they
  // are fresh.
  bool continues_content = false;
  Tokens prompt{};            // at least 1
  Tokens max_tokens{};        // what the client asked for, at least 1; clipped to the context by the core
  Time arrival = kTimeZero;   // when the client sent it
  std::int32_t priority = 0;  // smaller is more important, as in vLLM
  SessionId session = kNoSession;
  TenantId tenant{0};
  AdapterId adapter = kNoAdapter;
  std::int32_t told_outputs = 0;  // the true outputs where a named predictor is an oracle, otherwise 0
  std::uint64_t cache_salt = 0;   // requests of different salts share no KV blocks
  // What the prompt is made of, in order; lengths sum to `prompt`. Empty: text that no other request shares.
  std::vector<ContentSegment> content;
};

inline constexpr int kMaxStatGroups = 32;

// The life of one request, complete when it ends. Times that never came are kTimeNever.
struct RequestRecord {
  RequestId id = kNoRequest;
  ReplicaId replica = kNoReplica;
  ClassId traffic_class{0};
  std::uint8_t stat_group = 0;
  TenantId tenant{0};
  AdapterId adapter = kNoAdapter;
  EndState end_state = EndState::kFailed;
  EndReason end_reason = EndReason::kNone;
  Tokens prompt{};
  Tokens max_tokens{};  // as asked
  Tokens outputs{};     // tokens produced
  Tokens cached{};      // prefix hit at the first admission
  Tokens recomputed{};  // tokens computed again after preemptions
  std::int32_t preemptions = 0;
  Time arrival = kTimeNever;
  Time ready = kTimeNever;  // tokenised and handed to routing
  Time first_scheduled = kTimeNever;
  Time first_token = kTimeNever;
  Time last_token = kTimeNever;
  Time end = kTimeNever;
  Duration preempted{};     // total time between a preemption and the next admission
  Duration head_of_line{};  // waiting behind a head that was refused for KV
  Tokens waste_at_end{};    // allocated but unwritten slots when it ended (internal fragmentation)
  Tokens held_at_end{};     // slots allocated when it ended
};

}  // namespace servetwin
