// What rules share whose steps are of one phase and whose prompts go in whole.
#pragma once

#include <algorithm>
#include <optional>

#include "engine/serving/rules.h"

namespace servetwin {

// Only the first of a batch may be cut, and only because it is longer than a step. Where longer prompts are
// refused on arrival, a request that comes back after a preemption can still be: it would never enter again.
class WholePrompts : public BatchRule {
 public:
  std::optional<Tokens> chunk(const ChunkView& view, const EngineConfig& /*config*/) const override {
    if (view.running || view.rows == 0) return std::min(view.rest, view.budget);
    if (view.rest > view.budget) return std::nullopt;
    return view.rest;
  }
  Composition composition() const override { return Composition::kPrefillAlone; }
  bool whole_sequence_blocks() const override { return true; }
};

}  // namespace servetwin
