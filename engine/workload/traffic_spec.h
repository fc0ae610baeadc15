// What the requests of one traffic class are like and how their clients behave, as parameters.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/params.h"
#include "engine/workload/horizon.h"
#include "engine/workload/mix_spec.h"

namespace servetwin {

struct AdapterSpec {
  MixSpec mix;
  double base_share = 0;

  template <class Visitor>
  void fields(Visitor& v) {
    mix.fields(v);
    v("base_share", base_share, "Share of requests for the base model.", Range{0.0, 1.0});
  }
  std::string problem() const { return mix.problem(); }
};

struct SharedPrefixSpec {
  MixSpec groups;
  ConfigNode tokens;  // a length distribution, drawn once a group
  double share = 1;

  template <class Visitor>
  void fields(Visitor& v) {
    groups.fields(v);
    v("tokens", tokens, "Length of a prefix, drawn once a group; comes before the input tokens.", kRequired);
    v("share", share, "Share of conversations that begin with one of the prefixes.", Range{0.0, 1.0});
  }
  std::string problem() const { return groups.problem(); }
};

struct SessionSpec {
  ConfigNode turns;  // a length distribution
  DurationSpec think_time;

  template <class Visitor>
  void fields(Visitor& v) {
    v("turns", turns, "Turns of a conversation, a length distribution.", kRequired);
    v("think_time", think_time, "From an answer to the next turn.");
  }
};

struct CancellationSpec {
  double share = 0;
  DurationSpec after;

  template <class Visitor>
  void fields(Visitor& v) {
    v("share", share, "Share of requests whose client goes away.", Range{0.0, 1.0});
    v("after", after, "When, counted from the arrival; without effect once the request has ended.");
  }
};

struct TimeoutSpec {
  double share = 1;
  std::optional<Duration> total;
  std::optional<Duration> queue;
  std::optional<Duration> first_token;

  template <class Visitor>
  void fields(Visitor& v) {
    const Range spans{Duration{0}, kHorizon};
    v("share", share, "Share of requests whose client has these limits.", Range{0.0, 1.0});
    v("total", total, "Longest time from arrival to the last token.", spans);
    v("queue", queue, "Longest wait for the first schedule.", spans);
    v("first_token", first_token, "Longest wait for the first token.", spans);
  }
};

struct SlowReaderSpec {
  double share = 0;
  BytesPerSecond rate;
  Bytes window{64 * 1024};

  template <class Visitor>
  void fields(Visitor& v) {
    v("share", share, "Share of clients that read slowly.", Range{0.0, 1.0});
    v("rate", rate, "How fast they read.", kRequired, kPositive);
    v("window", window, "Bytes buffered on the client's side before the server notices.");
  }
};

// Who shares prefix-cache entries: everybody, or only requests of the same tenant, session or request.
enum class SaltScope { kNone, kTenant, kSession, kRequest };

struct TrafficSpec {
  ConfigNode lengths;     // {input: DIST, output: DIST} or {table: NAME}
  ConfigNode max_tokens;  // N, output, {multiple_of_output: X} or a length distribution
  std::optional<int> priority;
  std::optional<MixSpec> tenants;
  std::optional<AdapterSpec> adapters;
  std::optional<SaltScope> cache_salt;
  std::optional<SharedPrefixSpec> shared_prefix;
  std::optional<SessionSpec> sessions;
  std::optional<CancellationSpec> cancellations;
  std::optional<TimeoutSpec> timeouts;
  std::optional<SlowReaderSpec> slow_readers;

  template <class Visitor>
  void fields(Visitor& v) {
    v("lengths", lengths,
      "Tokens in and out: {input: DIST, output: DIST} or {table: azure-2023-conversation}.");
    v("max_tokens", max_tokens,
      "What clients ask for: N, output, {multiple_of_output: X} or a distribution.");
    v("priority", priority, "Smaller is more important.");
    v("tenants", tenants, "Tenants that send the requests.");
    v("adapters", adapters, "LoRA adapters that the requests ask for.");
    v("cache_salt", cache_salt, "Which requests may share KV blocks.",
      Choices<SaltScope>{{"none", SaltScope::kNone},
                         {"tenant", SaltScope::kTenant},
                         {"session", SaltScope::kSession},
                         {"request", SaltScope::kRequest}});
    v("shared_prefix", shared_prefix, "Prefixes, such as system prompts, that many requests begin with.");
    v("sessions", sessions, "Conversations of several turns with a growing context.");
    v("cancellations", cancellations, "Clients that go away.");
    v("timeouts", timeouts, "Limits after which a client gives up.");
    v("slow_readers", slow_readers, "Clients that read their answer slowly.");
  }
  // This, with what it leaves open taken from `base`.
  TrafficSpec over(const TrafficSpec& base) const;
};

}  // namespace servetwin
