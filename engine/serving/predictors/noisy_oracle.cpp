// The true length times a log-normal factor of median 1, drawn once per request: how much error an order
// stands.
#include <algorithm>

#include "engine/base/check.h"
#include "engine/base/registry.h"
#include "engine/base/samplers.h"
#include "engine/serving/predictor.h"

namespace servetwin {
namespace {

class NoisyOracle final : public Predictor {
 public:
  struct Params {
    double sigma = 0.5;
    std::int64_t seed = 1;

    template <class Visitor>
    void fields(Visitor& v) {
      v("sigma", sigma, "Standard deviation of the factor's logarithm.", Range{0.0, 5.0});
      v("seed", seed, "Of the noise alone.", Range{0, 1000000000});
    }
  };
  explicit NoisyOracle(const Params& params) : params_(params) {}

  Tokens outputs(const RequestSpec& request) const override {
    CHECK_INVARIANT(request.told_outputs > 0, raw(request.id));
    const StreamKey key{static_cast<std::uint64_t>(params_.seed), Stream::kPredictions, 0};
    const double factor = sample_lognormal(key, raw(request.id), 0.0, params_.sigma);
    const double noisy = factor * static_cast<double>(request.told_outputs);
    const double most = static_cast<double>(request.max_tokens.value);
    return Tokens{std::max<std::int64_t>(1, static_cast<std::int64_t>(std::min(noisy, most)))};
  }
  bool oracle() const override { return true; }

 private:
  Params params_;
};

const Registered<Predictor, NoisyOracle> kNoisyOracle{
    "noisy_oracle", "The true length times log-normal noise; the report is marked."};

}  // namespace
}  // namespace servetwin
