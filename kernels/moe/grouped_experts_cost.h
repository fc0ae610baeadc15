// FLOPs and bytes of routed experts.
#pragma once

#include "engine/base/work.h"

namespace servetwin {

struct ExpertShape {
  double hidden = 0;
  double width = 0;  // of an expert
  double weight_bytes = 0;
  double activation_bytes = 0;
};

// `pairs` of tokens and experts; `touched` experts have at least one, and are read once each.
constexpr Work grouped_experts_work(const ExpertShape& shape, double pairs, double touched) {
  const double elements = 3.0 * shape.hidden * shape.width;
  return {2.0 * pairs * elements,
          touched * elements * shape.weight_bytes +
              pairs * (2.0 * shape.hidden + 3.0 * shape.width) * shape.activation_bytes};
}

}  // namespace servetwin
