// What drives the core in a run and how long its steps take: the seam between simulated and live runs.
#pragma once

#include <cstdint>
#include <string>

#include "engine/base/digest.h"
#include "engine/journal/journal_writer.h"
#include "engine/serving/cluster.h"
#include "scenarios/assemble.h"

namespace servetwin {

struct WorldOutcome {
  bool interrupted = false;  // stopped before its end
  std::uint64_t steps = 0;
};

class RunWorld {
 public:
  virtual ~RunWorld() = default;
  // Serves until nothing will happen any more, or until `stop`. `journal` is null when none is written;
  // request rows of the parts' source reach it without the world's help.
  virtual WorldOutcome serve(Cluster& cluster,
                             RunParts& parts,
                             JournalWriter* journal,
                             const volatile bool* stop) = 0;
  // Where the durations come from, for the report.
  virtual std::string describe(const RunParts& parts) const = 0;
  virtual std::string evidence(const RunParts& parts) const = 0;
  // Of the cost profile, in hexadecimal; empty without one.
  virtual std::string profile_hash(const RunParts& parts) const = 0;
};

// A virtual clock and the scenario's cost model.
class SimulatedWorld final : public RunWorld {
 public:
  WorldOutcome serve(Cluster& cluster,
                     RunParts& parts,
                     JournalWriter* journal,
                     const volatile bool* stop) override;
  std::string describe(const RunParts& parts) const override { return parts.cost->describe(); }
  std::string evidence(const RunParts& parts) const override { return to_string(parts.cost->evidence()); }
  std::string profile_hash(const RunParts& parts) const override {
    return to_hex(parts.cost->profile_hash());
  }
};

}  // namespace servetwin
