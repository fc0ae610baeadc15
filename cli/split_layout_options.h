// The options by which ranks share more than tensors.
#pragma once

#include "cli/arguments.h"
#include "engine/models/tensor_parallel.h"

namespace servetwin {

class SplitLayoutOptions {
 public:
  void declare(Arguments& arguments) {
    arguments.flag("--sequence-parallel", sequence_,
                   "Ranks share out the tokens between the products: reduce-scatter and all-gather.");
    arguments.flag("--expert-parallel", expert_,
                   "Each expert is whole on one rank; its tokens go there. Brings --sequence-parallel.");
  }
  SplitLayout layout() const { return {sequence_ || expert_, expert_}; }

  friend bool operator==(const SplitLayoutOptions&, const SplitLayoutOptions&) = default;

 private:
  bool sequence_ = false;
  bool expert_ = false;
};

}  // namespace servetwin
