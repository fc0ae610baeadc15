// The steps of a run by number, forwards and backwards: the run is made again, and the frames around the last
// step asked for are kept.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/rerun.h"
#include "cli/step_frame.h"

namespace servetwin {

// What is known when the run is over.
struct RunEnd {
  StepId last{0};  // of the replica
  RunDigests digests;
  std::string trouble;   // see Rerun::trouble()
  bool differs = false;  // from the journal that was replayed
};

inline constexpr StepId kLastStep{std::numeric_limits<std::uint64_t>::max()};

class StepPlayer {
 public:
  // Makes the run from its beginning, every step by itself with all its rows.
  using MakeRun = std::function<std::unique_ptr<Rerun>(std::vector<Observer*>)>;
  // Asked now and then on the way, with the step that was reached; false gives up.
  using GoOn = std::function<bool(StepId)>;

  StepPlayer(MakeRun make_run, ReplicaId replica, RuleNames rules);

  // The frame of a step, or of the last one when the run has fewer. Null when given up on the way, or when
  // the replica has no step at all. Valid until the next call.
  const StepFrame* seek(StepId step, const GoOn& go_on);
  // Goes on to the end of the run. False when given up.
  bool finish(const GoOn& go_on);

  // Nothing until the end was reached once.
  const std::optional<RunEnd>& end() const { return end_; }

 private:
  void restart();
  bool run_until(StepId step, const GoOn& go_on);
  void trim(StepId needed);
  const StepFrame* find(StepId step);

  MakeRun make_run_;
  ReplicaId replica_;
  RuleNames rules_;
  std::unique_ptr<FrameWatch> watch_;
  std::unique_ptr<Rerun> run_;
  bool begun_ = false;
  bool over_ = false;
  std::optional<RunEnd> end_;
  StepId counted_{0};      // the last frame that is in bytes_
  std::size_t bytes_ = 0;  // of the frames that are kept
};

}  // namespace servetwin
