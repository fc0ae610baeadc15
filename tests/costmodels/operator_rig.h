// An operator profile from the numbers at which fits begin, an engine's times, and a profiler's tables by
// hand, for tests that need some.
#pragma once

#include <string>

#include "costmodels/engine_set.h"
#include "costmodels/operator_profile.h"
#include "tests/costmodels/cost_test_support.h"

namespace servetwin {

inline DeviceSpec h100_with_operators() {
  DeviceSpec device = h100();
  device.multiprocessors = 132;
  device.operators = "h100-sxm";
  return device;
}

inline OperatorFit starting_fit(const std::string& formula,
                                const std::string& part,
                                const GpuLimits& device) {
  std::vector<double> numbers;
  const auto made = Registry<OperatorFormula>::instance().make(formula, ConfigNode{});
  for (const FormulaNumber& one : made->numbers(device)) numbers.push_back(one.start);
  return fit_of(formula, part, numbers, {}, device);
}

inline OperatorProfile starting_profile(const DeviceSpec& device) {
  OperatorProfile profile;
  profile.device = device.name;
  profile.source = "start values";
  profile.limits = {device.peak.bf16, device.memory_bandwidth, device.node_link, device.multiprocessors};
  const GpuLimits limits = limits_of(device);
  for (const auto& [formula, part] : {std::pair<const char*, const char*>{"gemm_bf16", "bf16"},
                                      {"gemm_fp8", "fp8"},
                                      {"attention_decode_fa3", "bf16/128"},
                                      {"attention_prefill_fa3", "bf16/128"},
                                      {"experts", "bf16"},
                                      {"mla_decode", "bf16"},
                                      {"mla_prefill", "bf16"}}) {
    profile.fits.push_back(starting_fit(formula, part, limits));
  }
  profile.collectives.push_back({"all_reduce", "custom", 2, {1024, 1048576}, {4, 12}, {}});
  profile.collectives.push_back({"all_gather", "nccl", 2, {1024, 1048576}, {5, 10}, {}});
  return profile;
}

inline EngineSet engine_by_hand() {
  EngineSet set;
  set.name = "by-hand";
  set.source = "by hand";
  set.times.step = Duration{200'000};
  set.times.sequence = Duration{5'000};
  set.times.layer = Duration{2'000};
  set.times.overlap = 0.25;
  return set;
}

// The files of a profiler for one layer: an operation takes 10 µs and 1 µs a token; attention adds up.
class LayerFiles {
 public:
  LayerFiles()
      : dense_("layer_dense.csv", dense()),
        attention_("layer_attention.csv", attention()),
        per_sequence_("layer_per_sequence.csv", "layer,sequences,time_us\nlm_head,1,500\nlm_head,256,755\n") {
  }
  static std::string prefix() { return "layer_"; }

  static double attention_us(double chunk, double cached, double rows, double context) {
    return 10 + 0.001 * chunk * (cached + chunk / 2) + 0.0002 * rows * context;
  }

 private:
  static std::string dense() {
    std::string text = "layer,tokens,time_us\n";
    for (const char* name : {"qkv_proj", "o_proj", "gate_up_proj", "down_proj", "layernorm", "act_fn",
                             "rotary_emb", "embedding", "final_layernorm"}) {
      text += std::string(name) + ",1,11\n" + name + ",4096,4106\n";
    }
    return text;
  }
  static std::string attention() {
    std::string text = "prefill_chunk,kv_prefill,n_decode,kv_decode,time_us\n";
    for (const int chunk : {0, 1, 16, 2048}) {
      for (const int cached : {0, 8192}) {
        if (chunk == 0 && cached > 0) continue;
        for (const int rows : {0, 1, 256}) {
          for (const int context : {0, 16, 8192}) {
            if ((rows == 0) != (context == 0) || (chunk == 0 && rows == 0)) continue;
            text += std::to_string(chunk) + ',' + std::to_string(cached) + ',' + std::to_string(rows) + ',' +
                    std::to_string(context) + ',' +
                    std::to_string(attention_us(chunk, cached, rows, context)) + '\n';
          }
        }
      }
    }
    return text;
  }

  TestFile dense_;
  TestFile attention_;
  TestFile per_sequence_;
};

}  // namespace servetwin
