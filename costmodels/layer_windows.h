// How many layers see only a window of the sequence, as far as steps can tell.
#pragma once

#include "costmodels/cost_model.h"
#include "engine/base/check.h"
#include "engine/models/spec.h"

namespace servetwin {

struct LayerWindows {
  std::int64_t window = 0;  // tokens that a query of theirs sees, sinks with them; 0: there are none
  std::int64_t windowed = 0;
  std::int64_t whole = 0;  // layers that see all, or as much as the longest context has
};

inline LayerWindows layer_windows(const CostContext& context) {
  const ModelSpec& model = *context.model;
  const std::int64_t longest = context.limits.context > 0 ? context.limits.context : model.max_position;
  LayerWindows layers;
  for (std::int64_t i = 0; i < model.layers; ++i) {
    const std::int64_t window = layer_spec(model, i).window;
    const bool cuts = window > 0 && window + context.sink < longest;
    ++(cuts ? layers.windowed : layers.whole);
    if (cuts) layers.window = window + context.sink;
  }
  return layers;
}

// A shape without the sums would be priced as if nobody read anything.
inline void check_window(const LayerWindows& layers, const StepShape& shape) {
  CHECK_INVARIANT(layers.window == 0 || shape.window == layers.window, layers.window, shape.window);
}

// For descriptions; empty where no layer has a window.
inline std::string window_text(const LayerWindows& layers) {
  if (layers.windowed == 0) return "";
  return "; " + std::to_string(layers.windowed) + " of " + std::to_string(layers.windowed + layers.whole) +
         " layers see " + std::to_string(layers.window) + " tokens";
}

}  // namespace servetwin
