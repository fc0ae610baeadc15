// Every length between two ends is equally likely.
#include <algorithm>

#include "engine/base/registry.h"
#include "engine/workload/length_distribution.h"

namespace servetwin {
namespace {

class UniformLength final : public LengthDistribution {
 public:
  struct Params {
    Tokens low{1};
    Tokens high{1};
    template <class Visitor>
    void fields(Visitor& v) {
      v("low", low, "Shortest.", kRequired, Range{Tokens{1}, Tokens{100'000'000}});
      v("high", high, "Longest.", kRequired, Range{Tokens{1}, Tokens{100'000'000}});
    }
    std::string problem() const { return low > high ? "low is above high" : ""; }
  };
  explicit UniformLength(const Params& params) : params_(params) {}

  Tokens quantile(double probability) const override {
    const auto count = static_cast<double>((params_.high - params_.low).value + 1);
    const Tokens length = params_.low + Tokens{static_cast<std::int64_t>(probability * count)};
    return std::min(length, params_.high);
  }

 private:
  Params params_;
};

const Registered<LengthDistribution, UniformLength> kUniformLength{"uniform",
                                                                   "Equally likely from low to high."};

}  // namespace
}  // namespace servetwin
