// Prices a step of a transformer from times of kernels and of the engine around them: every part that depends
// on tokens alone is a curve, made once.
#pragma once

#include <array>
#include <vector>

#include "costmodels/cost_model.h"
#include "costmodels/engine_set.h"
#include "costmodels/layer_products.h"
#include "costmodels/operator_times.h"
#include "costmodels/token_curve.h"

namespace servetwin {

// Everything that keeps the pricer from pricing this model on this device, each named; empty when it can.
std::vector<Problem> step_pricing_problems(const CostContext& context);

// Needs a context without pricing problems. A step's time is one rank's; ranks of data-parallel attention
// have equal shares of the requests, and the replica that is simulated is one of them.
class StepPricer {
 public:
  StepPricer(const CostContext& context, const OperatorTimes& operators, const EngineTimes& engine);

  // All operations of the step, but for the keys that decode rows read.
  std::array<OpCost, kNumOpClasses> price(const StepShape& shape) const;
  // The sum of the above.
  double base_ns(const StepShape& shape) const;
  // What the host does beside the device where two steps are in flight: of that sum.
  double host_ns(const StepShape& shape) const { return engine_.overlap * host_total_ns(shape); }
  // What the keys of decode rows add: base and slope hold for the number of keys asked for, and around it.
  TimeLine decode_keys(const StepShape& shape) const;
  Work decode_work(double rows, double keys) const;

 private:
  double host_total_ns(const StepShape& shape) const;
  void make_curves(const CostContext& context, const OperatorTimes& operators);
  void add_elementwise(const ModelSpec& model, std::int64_t most);
  void set(OpCost& op, double ns, Work work) const;
  Work product_work(double tokens) const;

  OperatorTimes operators_;
  EngineTimes engine_;
  DeviceSpec device_;
  RankLayout layout_;
  AttentionShape attention_;
  bool latent_ = false;
  std::vector<LayerProduct> products_;
  LayerProduct head_;
  ExpertLayers experts_;
  DType weights_;
  double layers_ = 0;
  double vocab_ = 0;
  TokenCurve gemm_;         // all layers' products
  TokenCurve elementwise_;  // norms, activations, rotary embedding
  TokenCurve moe_;
  TokenCurve collectives_;
  TokenCurve head_time_;  // of sampled rows
  TokenCurve gather_;     // of their logits
};

}  // namespace servetwin
