// Times of the kernels and collectives of one model's layers on a device, from an operator profile that is
// its own or is scaled to it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "costmodels/cost_model.h"
#include "costmodels/layer_products.h"
#include "costmodels/operator_profile.h"
#include "kernels/attention/attention_cost.h"

namespace servetwin {

enum class Fp8Scales { kChannel, kBlock };
// How tokens spread over experts: evenly, or as counts drawn from a power law of exponent 1.01 or 1.2.
enum class ExpertRouting { kEven, kSkewed, kVerySkewed };

struct OperatorChoice {
  DType weights = DType::kBF16;
  DType kv = DType::kBF16;
  Fp8Scales fp8_scales = Fp8Scales::kChannel;
  ExpertRouting routing = ExpertRouting::kSkewed;
};

// What keeps the profile from serving the choice, or empty.
std::vector<Problem> operator_problems(const OperatorProfile& profile,
                                       const DeviceSpec& device,
                                       const ModelSpec& model,
                                       const OperatorChoice& choice);

// Nanoseconds of one call. Needs a choice without problems.
class OperatorTimes {
 public:
  OperatorTimes(const OperatorProfile& profile,
                const DeviceSpec& device,
                const ModelSpec& model,
                const OperatorChoice& choice);

  double product(double tokens, const LayerProduct& product) const;
  // All rows of one context, its own token included.
  double decode(const AttentionShape& shape, double rows, double context) const;
  double prefill(const AttentionShape& shape, double rows, double tokens, double cached) const;
  double experts(double tokens, const ExpertLayers& layers) const;
  double all_reduce(double bytes, int ranks) const;
  double all_gather(double bytes, int ranks) const;

  // Interpolated on the device that was measured, else extrapolated.
  Evidence evidence() const { return evidence_; }
  // Of all-reduces and gathers among so many ranks.
  Evidence collective_evidence(int ranks) const;

 private:
  double fitted_gemm(double m, double n, double k, bool quantised) const;
  double gemm(double m, double n, double k, bool quantised) const;
  double compressed_gemm(double m, double n, double k) const;
  double collective(const char* op, double bytes, int ranks) const;
  const CollectiveTimes* nearest(const char* op, int ranks) const;

  OperatorChoice choice_;
  Evidence evidence_;
  bool native_ = true;                       // the weights' format is one that products compute in
  double weight_bytes_ = 2;                  // an element
  double byte_ns_ = 0;                       // at the device's limits, below which no kernel comes
  double flop_ns_ = 0;                       // of 16-bit products
  double own_flop_ns_ = 0;                   // of products in the weights' format
  double k_share_ = 1;                       // of k: formats of fewer bits than the kernel's
  double link_time_ = 1;                     // of a collective, against the measured device
  std::optional<FittedOperator> plain_;      // 16-bit products
  std::optional<FittedOperator> quantised_;  // of the weights' own format
  std::optional<FittedOperator> decode_;
  std::optional<FittedOperator> prefill_;
  std::optional<FittedOperator> experts_;
  double expert_bits_ = 16;
  double expert_rate_ = 1;  // of their products, against 16 bits
  std::string device_;
  std::vector<CollectiveTimes> collectives_;
};

}  // namespace servetwin
