// What TensorRT-LLM's presets share: the batch manager's settings, under one capacity policy or another.
#pragma once

#include "engine/base/registry.h"
#include "engine/serving/preset.h"

namespace servetwin {

// Policy::kStep names the form of steps.
template <class Policy>
class TrtllmPreset final : public Preset {
 public:
  struct Params {
    template <class Visitor>
    void fields(Visitor& /*v*/) {}
  };
  explicit TrtllmPreset(const Params& /*params*/) {}

  EngineConfig engine() const override {
    EngineConfig config;
    config.max_num_batched_tokens = Tokens{8192};
    config.max_num_seqs = 2048;
    config.block_size = Tokens{64};
    return config;
  }
  RuleNames rules() const override {
    RuleNames names;
    names.step = Policy::kStep;
    return names;
  }
};

}  // namespace servetwin
