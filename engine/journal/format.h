// What a journal holds, line by line: one header, request rows and events, one footer. See docs/journal.md.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "engine/base/ids.h"
#include "engine/base/time.h"
#include "engine/serving/event.h"
#include "engine/serving/request.h"

namespace servetwin {

// The version this build writes; no other is read.
inline constexpr std::uint64_t kJournalVersion = 1;

struct JournalHeader {
  std::uint64_t version = kJournalVersion;
  std::string scenario{};        // the resolved configuration, as YAML text
  std::string profile_hash{};    // of the cost profile; empty without one
  std::string estimator_hash{};  // of the step-time estimator; empty without one
  std::string build{};
  std::string engine{};  // one line for people: preset and layout
  std::uint64_t seed = 0;
  std::uint32_t replicas = 1;

  friend bool operator==(const JournalHeader&, const JournalHeader&) = default;
};

// An event as it was delivered to the core. A PlanDue also says what came of it.
struct JournalEvent {
  StampedEvent stamped{kTimeZero, Arrived{kNoRequest}};
  StepId started{0};  // PlanDue: the step that was started, 0 when there was nothing to run
  Duration late{};    // PlanDue: how long after the time asked for it was delivered; 0 in simulation
};

struct JournalFooter {
  bool complete = false;        // false: the run was stopped before its end
  std::uint64_t events = 0;     // lines that are events
  std::uint64_t decisions = 0;  // digest of the decisions
  std::uint64_t timeline = 0;   // digest of the decisions with their stamps

  friend bool operator==(const JournalFooter&, const JournalFooter&) = default;
};

using JournalLine = std::variant<JournalHeader, RequestSpec, JournalEvent, JournalFooter>;

}  // namespace servetwin
