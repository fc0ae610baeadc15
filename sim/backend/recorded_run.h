// The world outside the core as a journal recorded it: arrivals, clients that went away, lengths, durations.
// A simulation of it leaves nothing open but the decisions.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "engine/journal/replayed_durations.h"
#include "engine/workload/source.h"

namespace servetwin {

struct RecordedItem {
  Time delivered = kTimeZero;  // when it reached the core
  WorkloadItem item;           // cancellations and time limits come when they came
};

struct RecordedRun {
  std::vector<RecordedItem> items;           // as they were delivered
  std::vector<ReplayedDurations> durations;  // by replica
};

// Reads the journal twice. `stops` are the records of those that stopped by themselves, which a replay of the
// journal gives: their outputs are the true lengths. Everyone else is taken to go on for ever. Events of
// operators and clients' windows are left out.
RecordedRun read_recorded_run(const std::string& journal, const std::vector<RequestRecord>& stops);

class RecordedSource final : public RequestSource {
 public:
  explicit RecordedSource(const RecordedRun& run) : run_(run) {}

  Time next_arrival() override {
    return next_ < run_.items.size() ? run_.items[next_].delivered : kTimeNever;
  }
  void take(WorkloadItem& item) override { item = run_.items[next_++].item; }
  bool reacts_to_ends() const override { return false; }
  std::optional<std::int64_t> total() const override { return static_cast<std::int64_t>(run_.items.size()); }
  std::string describe() const override { return "arrivals of a recorded run"; }
  SourceFacts facts() const override { return {}; }

 private:
  const RecordedRun& run_;
  std::size_t next_ = 0;
};

}  // namespace servetwin
