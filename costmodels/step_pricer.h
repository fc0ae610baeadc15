// Prices a step of a transformer from times of kernels and of the engine around them: every part that depends
// on tokens alone is a curve, made once.
#pragma once

#include <array>
#include <vector>

#include "costmodels/cost_model.h"
#include "costmodels/decode_surface.h"
#include "costmodels/engine_set.h"
#include "costmodels/layer_products.h"
#include "costmodels/layer_windows.h"
#include "costmodels/operator_times.h"
#include "costmodels/token_curve.h"

namespace servetwin {

struct StepPricerParts {
  const ModelSpec* model = nullptr;  // only read while the pricer is made
  const DeviceSpec* device = nullptr;
  RankLayout layout;
  StepLimits limits;
  LayerWindows windows;
  OperatorChoice choice;
  EngineTimes engine;
  bool greedy = false;  // nobody asks for top-p or top-k, for which engines go through whole rows many times
};

// A step's time is one rank's. With data-parallel attention the replica that is simulated is one group of
// ranks, and the others are taken to do the same: experts get the tokens of all.
class StepPricer {
 public:
  StepPricer(const StepPricerParts& parts, const OperatorTimes& operators);

  // Everything but the keys that decode rows read in layers that see all of them.
  std::array<OpCost, kNumOpClasses> price(const StepShape& shape) const;
  double base_ns(const StepShape& shape) const;
  // Of a shape with decode rows, around its context.
  DecodeLine decode_keys(const StepShape& shape) const {
    return decode_.line(shape.decode_sequences, static_cast<double>(shape.decode_context));
  }
  Work decode_work(const StepShape& shape) const;
  // What the host does beside the device where two steps are in flight; part of the base.
  double overlapped_ns(const StepShape& shape) const { return engine_.overlap * host_ns(shape); }
  Evidence evidence() const { return evidence_; }

 private:
  void make_curves(const StepPricerParts& parts, const OperatorTimes& operators);
  double host_ns(const StepShape& shape) const;
  double launch_ns(const StepShape& shape, double device_ns) const;
  double prefill_ns(const StepShape& shape) const;
  double windowed_prefill_ns(const StepShape& shape) const;
  double windowed_decode_ns(const StepShape& shape) const;
  Work layer_decode_work(double rows, double keys) const;
  // Of one layer, whose rows see so many pairs and read so many cached keys.
  Work layer_prefill_work(const StepShape& shape, double pairs, double keys) const;
  Work prefill_work(const StepShape& shape) const;
  Work product_work(double tokens) const;
  Work expert_work(double tokens) const;

  OperatorTimes operators_;
  EngineTimes engine_;
  RankLayout layout_;
  AttentionShape attention_;
  MlaSpec latent_;  // of models that have it; a rank of 0: none
  Evidence evidence_;
  Evidence collective_evidence_;
  std::vector<LayerProduct> products_;
  LayerProduct head_;
  ExpertLayers experts_;
  double weight_bytes_ = 2;
  LayerWindows windows_;
  double layers_ = 0;
  double hidden_ = 0;
  double vocab_ = 0;
  double balance_ = 0;  // bytes a FLOP at which an operation changes its bound
  // Nanoseconds of all layers by tokens, of the head and the gathering of logits by sampled rows.
  TokenCurve gemm_, elementwise_, moe_, collectives_, head_time_, gather_;
  DecodeSurface decode_;           // of layers that see all
  DecodeSurface windowed_decode_;  // of the others
};

}  // namespace servetwin
