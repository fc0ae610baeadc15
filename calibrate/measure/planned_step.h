// Which steps are measured: shapes that fill the space an engine's limits allow, small ones as often as
// large.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/serving/shape.h"

namespace servetwin {

struct PlannedRow {
  std::int64_t context = 0;  // tokens computed before
  std::int64_t tokens = 1;   // query length
  bool sampled = true;
  bool decode = true;
};

struct PlannedStep {
  std::vector<PlannedRow> rows;
};

StepShape shape_of(const PlannedStep& step);

// How large steps may be.
struct StepSpace {
  std::int64_t tokens = 1;     // of a step
  std::int64_t sequences = 1;  // rows
  std::int64_t context = 2;    // of one row after the step
  std::int64_t blocks = 1;     // of all rows after the step
  std::int64_t block_size = 1;

  friend bool operator==(const StepSpace&, const StepSpace&) = default;
};

// The first steps are the corners of the space; the others follow a sequence of low discrepancy over the kind
// of step, numbers of decode and prefill rows, contexts and their skew, and query lengths. Pure: the n-th
// step of a space and seed is always the same.
PlannedStep planned_step(const StepSpace& space, std::uint64_t seed, std::int64_t n);

}  // namespace servetwin
