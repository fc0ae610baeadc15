// Prices a step from a profiler's tables of one layer's operations and what an engine adds.
#pragma once

#include <array>

#include "costmodels/cost_model.h"
#include "costmodels/engine_set.h"
#include "costmodels/layer_times.h"
#include "engine/models/spec.h"

namespace servetwin {

class LayerPricer {
 public:
  LayerPricer(LayerTimes times, const EngineTimes& engine, const ModelSpec& model);

  std::array<OpCost, kNumOpClasses> operations(const StepShape& shape) const;
  // Of a pure-decode step, around its context.
  ContextLine decode_line(const StepShape& shape) const;

 private:
  double token_ns(const char* name, double tokens) const;
  double attention_ns(double chunk, double cached, double rows, double context) const;
  double prefill_ns(const StepShape& shape, double rows, double context) const;
  double host_ns(const StepShape& shape) const;

  LayerTimes times_;
  EngineTimes engine_;
  double layers_ = 0;
  double vocab_ = 0;
};

}  // namespace servetwin
