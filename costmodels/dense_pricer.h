// Prices a step of a dense transformer from first principles: work of each operation against the device's
// limits.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "costmodels/cost_model.h"
#include "costmodels/device_spec.h"
#include "costmodels/layer_windows.h"
#include "engine/base/error.h"
#include "engine/base/params.h"
#include "engine/models/spec.h"
#include "kernels/attention/attention_cost.h"
#include "kernels/gemm/gemm_cost.h"

namespace servetwin {

// What the serving engine adds to its kernels. The defaults come from fits to latencies of vLLM 0.15.1 on
// H100, except those marked assumed (docs/cost-models.md).
struct EngineOverhead {
  Duration step{200'000};
  Duration prefill_step{700'000};
  Duration sequence{9'000};
  Duration new_sequence{100'000};
  Duration layer{6'000};
  Duration prefill_layer{5'000};
  Duration eager_layer{100'000};
  Duration all_reduce_skew{1'400};
  Duration sampling{400'000};
  double sampling_logit_ns = 0.11;

  template <class Visitor>
  void fields(Visitor& v) {
    v("step", step, "Host time of every step that the device waits for.");
    v("prefill_step", prefill_step, "Host time of a step with prefill rows, besides.");
    v("sequence", sequence, "Host time per row.");
    v("new_sequence", new_sequence, "Host time per row admitted in the step; assumed.");
    v("layer", layer, "Gaps between kernels per layer in a replayed graph.");
    v("prefill_layer", prefill_layer,
      "Launch of attention outside the graph, per layer, in steps with prefill.");
    v("eager_layer", eager_layer,
      "Host time to launch a layer without a graph; hidden behind products; assumed.");
    v("all_reduce_skew", all_reduce_skew, "Wait for the slowest rank at each all-reduce.");
    v("sampling", sampling, "Of a step that samples.");
    v("sampling_logit_ns", sampling_logit_ns,
      "Nanoseconds per row and vocabulary entry; about 0.01 when greedy.");
  }
};

// Everything that keeps the pricer from pricing this model on this device, each named; empty when it can.
std::vector<Problem> pricing_problems(const CostContext& context);

// Needs a context without pricing problems. All coefficients are for one rank; a step's time is the rank's.
class DensePricer {
 public:
  DensePricer(const CostContext& context, const EngineOverhead& overhead);

  // All operations of the step, but for the keys that decode rows read in layers that see all of them.
  std::array<OpCost, kNumOpClasses> price(const StepShape& shape) const;
  // Sum of the above.
  double base_ns(const StepShape& shape) const;
  // The host's part of that sum.
  double host_ns(const StepShape& shape) const;
  // What one key read by a decode row adds in those: to the time, and as work.
  double decode_key_ns() const { return decode_key_ns_; }
  OpCost decode_keys(double keys) const;
  const LayerWindows& windows() const { return windows_; }

 private:
  static constexpr std::size_t kNumLayerGemms = 4;

  struct Gemm {
    double n = 0;
    double k = 0;
    double weight_bytes = 2;  // an element
    double flop_ns = 0;
    double count = 1;
  };

  void add_gemm(OpCost& op, double tokens, const Gemm& gemm) const;
  void add_prefill(OpCost& op, const StepShape& shape) const;
  void add_elementwise(OpCost& op, double tokens) const;
  void add_collectives(OpCost& op, double tokens, double sampled) const;
  void add_sampling(OpCost& op, double rows) const;
  void add_launch(OpCost& op, const StepShape& shape, double device_ns) const;
  double collective_ns(double sent_bytes) const;

  EngineOverhead overhead_;
  KernelEfficiency efficiency_;
  AttentionShape attention_;
  std::array<Gemm, kNumLayerGemms> layer_gemms_;
  Gemm head_;
  double layers_ = 0;
  double hidden_ = 0;
  double intermediate_ = 0;  // of this rank
  double vocab_ = 0;
  double ranks_ = 1;
  // Nanoseconds a byte or FLOP, with the kernels' efficiency.
  double gemm_byte_ns_ = 0;
  double gemm_fade_ = 0;  // by which share each token lengthens that
  double attention_byte_ns_ = 0;
  double attention_flop_ns_ = 0;
  double elementwise_byte_ns_ = 0;
  double link_byte_ns_ = 0;
  double decode_key_ns_ = 0;
  LayerWindows windows_;
};

}  // namespace servetwin
