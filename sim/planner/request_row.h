// One request of a run as a comparison sees it, and what must be the same in runs that are compared.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/ids.h"
#include "engine/base/time.h"
#include "engine/base/units.h"
#include "engine/serving/end_state.h"

namespace servetwin {

// Spans of a request's life, definitions in docs/metrics.md. The last four add up to E2E: front end, queue,
// preempted, and the rest, in which it was in the batch.
enum class Latency : std::uint8_t {
  kTtft,
  kTpot,
  kE2e,
  kHeadOfLine,
  kFrontEnd,
  kQueue,
  kPreempted,
  kInBatch
};

inline constexpr std::size_t kNumLatencies = 8;

struct RequestRow {
  // Who it is in every run: the turn of its conversation. Requests without one are a conversation together.
  SessionId session = kNoSession;
  std::uint32_t turn = 0;
  RequestId id = kNoRequest;  // in this run, for messages
  ClassId traffic_class{0};
  TenantId tenant{0};
  bool measured = true;
  std::optional<EndState> end_state;  // none: it never ended
  Tokens prompt{};
  Tokens max_tokens{};
  Tokens outputs{};
  Time arrival = kTimeZero;
  Duration sojourn{};                                              // from arrival to end
  std::array<std::optional<Duration>, kNumLatencies> latencies{};  // where it has one

  std::pair<SessionId, std::uint32_t> key() const { return {session, turn}; }
  bool finished() const { return end_state && is_finished(*end_state); }
  const std::optional<Duration>& latency(Latency l) const { return latencies[static_cast<std::size_t>(l)]; }
};

// The requests of one run, by key.
struct RunRows {
  std::vector<std::string> classes;  // names, by ClassId
  bool closed_loop = false;
  std::vector<RequestRow> rows;
};

// The first request that is not the same in both runs. Each side's value is text; "-" where it has none.
struct RowMismatch {
  RequestId request = kNoRequest;  // of the first run where it is there
  std::string field;
  std::string a;
  std::string b;
};

// Compared are class, tenant, lengths, and, of requests that finished in both, outputs. Arrivals are compared
// where they do not depend on service: in open loops, but for later turns of a conversation. Such requests
// may also be missing in one of the runs.
std::optional<RowMismatch> first_mismatch(const RunRows& a, const RunRows& b);

// Measured requests that finished in both runs, as indexes of their rows.
using RowPairs = std::vector<std::pair<std::size_t, std::size_t>>;
RowPairs finished_in_both(const RunRows& a, const RunRows& b);

}  // namespace servetwin
