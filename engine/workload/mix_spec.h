// Small random quantities as parameters: a span of time, and a choice among equals or by popularity.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/params.h"
#include "engine/workload/horizon.h"

namespace servetwin {

// A random span: constant at cv 0, exponential at cv 1, Gamma in general.
struct DurationSpec {
  Duration mean{0};
  double cv = 0;

  template <class Visitor>
  void fields(Visitor& v) {
    v("mean", mean, "Mean.", Range{Duration{0}, kHorizon});
    v("cv", cv, "Standard deviation over mean: 0 constant, 1 exponential.", Range{0.0, 100.0});
  }
};

// A choice among `count` things: uniform at zipf 0, or by explicit weights.
struct MixSpec {
  std::int64_t count = 1;
  double zipf = 0;
  std::vector<double> weights;

  template <class Visitor>
  void fields(Visitor& v) {
    v("count", count, "How many there are.", Range{1, 65'535});
    v("zipf", zipf, "Exponent of their popularity: 0 is uniform.", Range{0.0, 10.0});
    v("weights", weights, "Explicit weights instead, one for each.", Range{0.0, 1e9});
  }
  std::string problem() const;
};

}  // namespace servetwin
