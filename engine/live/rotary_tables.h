// The rotation speeds of a model's heads, from its description.
#pragma once

#include "engine/base/units.h"
#include "engine/models/spec.h"
#include "kernels/rotary/rotary.h"

namespace servetwin {

class RotaryTables {
 public:
  // `longest` is the longest sequence that will be served: scalings that follow the length use it from the
  // start, so that cached keys stay valid.
  RotaryTables(const ModelSpec& spec, Tokens longest);

  const RotaryFrequencies& global() const { return global_; }
  // Of layers that see a window and turn by a base of their own.
  const RotaryFrequencies& local() const { return local_; }

 private:
  RotaryFrequencies global_;
  RotaryFrequencies local_;
};

}  // namespace servetwin
