// Times steps of a real model: the runner of the live engine, without a scheduler before it.
#pragma once

#include <memory>
#include <vector>

#include "calibrate/measure/step_timer.h"
#include "engine/live/model_runner.h"

namespace servetwin {

// All sequences have the same prompt, so what one computed can be copied into another's blocks: a step's
// contexts are there without computing them again, each row in blocks of its own.
class ModelTimer final : public StepTimer {
 public:
  // `options` as in a live run; the pool becomes larger by one longest sequence. Weights must outlive it.
  // `space` is within the limits of `options`.
  ModelTimer(const ModelSpec& spec,
             const ModelWeights& weights,
             RunnerOptions options,
             const StepSpace& space);

  void prepare(const PlannedStep& step) override;
  TimedRun run() override;
  Duration now() override;

 private:
  std::vector<std::int32_t> take_blocks(std::int64_t tokens);
  void add_row(StepBatch& batch, std::size_t index, const PlannedRow& row) const;
  void fill_first();

  StepSpace space_;
  std::int64_t block_size_;
  ContentText text_;
  ModelRunner runner_;
  std::vector<std::int32_t> first_blocks_;         // of the sequence that is computed once
  std::vector<std::int64_t> holds_;                // by block: which block of the sequence it is a copy of
  std::int32_t next_block_ = 0;                    // of those that rows take
  std::vector<std::vector<std::int32_t>> tables_;  // by row of the step
  StepBatch batch_;
  StepBatch lead_in_;  // what the runner writes before it, so that rows go on from there
};

}  // namespace servetwin
