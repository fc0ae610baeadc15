// Lengths whose logarithm is normal: the usual shape of prompts and answers.
#include <cmath>
#include <optional>

#include "engine/base/det_math.h"
#include "engine/base/registry.h"
#include "engine/workload/length_distribution.h"

namespace servetwin {
namespace {

class LognormalLength final : public LengthDistribution {
 public:
  struct Params {
    std::optional<double> mean;
    std::optional<double> cv;
    std::optional<double> median;
    std::optional<double> sigma;
    LengthClip clip;
    template <class Visitor>
    void fields(Visitor& v) {
      v("mean", mean, "Mean before clipping; goes with cv.", Range{1.0, 1e8});
      v("cv", cv, "Standard deviation over mean.", Range{0.0, 100.0});
      v("median", median, "Median; goes with sigma.", Range{1.0, 1e8});
      v("sigma", sigma, "Standard deviation of the logarithm.", Range{0.0, 10.0});
      clip.fields(v);
    }
    std::string problem() const {
      const bool by_mean = mean && cv && !median && !sigma;
      const bool by_median = median && sigma && !mean && !cv;
      return by_mean || by_median ? clip.problem() : "give mean and cv, or median and sigma";
    }
  };

  explicit LognormalLength(const Params& params) : clip_(params.clip) {
    if (params.mean) {
      const double variance = det_log1p(*params.cv * *params.cv);
      deviation_ = std::sqrt(variance);
      log_median_ = det_log(*params.mean) - variance / 2;
    } else {
      deviation_ = *params.sigma;
      log_median_ = det_log(*params.median);
    }
  }

  Tokens quantile(double probability) const override {
    return clip_.apply(det_exp(log_median_ + deviation_ * det_normal_quantile(probability)));
  }

 private:
  LengthClip clip_;
  double log_median_ = 0;
  double deviation_ = 0;
};

const Registered<LengthDistribution, LognormalLength> kLognormalLength{"lognormal", "Logarithm is normal."};

}  // namespace
}  // namespace servetwin
