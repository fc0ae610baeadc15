// A distribution given by some of its quantiles, linear in between.
#include <vector>

#include "engine/base/registry.h"
#include "engine/base/samplers.h"
#include "engine/workload/length_distribution.h"

namespace servetwin {
namespace {

class QuantileLength final : public LengthDistribution {
 public:
  struct Params {
    std::vector<double> probabilities;
    std::vector<Tokens> values;
    LengthClip clip;
    template <class Visitor>
    void fields(Visitor& v) {
      v("probabilities", probabilities, "Rising from 0 to 1.", kRequired, Range{0.0, 1.0});
      v("values", values, "The length at each of them; must not fall.", kRequired,
        Range{Tokens{1}, Tokens{100'000'000}});
      clip.fields(v);
    }
    std::string problem() const {
      if (probabilities.size() != values.size()) return "probabilities and values differ in number";
      if (values.size() < 2) return "a table needs at least two points";
      if (probabilities.front() != 0 || probabilities.back() != 1) return "probabilities go from 0 to 1";
      for (std::size_t i = 1; i < values.size(); ++i) {
        if (probabilities[i] <= probabilities[i - 1]) return "probabilities must rise";
        if (values[i] < values[i - 1]) return "values must not fall";
      }
      return clip.problem();
    }
  };
  explicit QuantileLength(const Params& params) : clip_(params.clip), table_(points(params)) {}

  Tokens quantile(double probability) const override {
    return clip_.apply(static_cast<double>(table_.quantile(probability)));
  }

 private:
  static std::vector<QuantileTable::Point> points(const Params& params) {
    std::vector<QuantileTable::Point> result;
    for (std::size_t i = 0; i < params.values.size(); ++i) {
      result.push_back({params.probabilities[i], static_cast<double>(params.values[i].value)});
    }
    return result;
  }

  LengthClip clip_;
  QuantileTable table_;
};

const Registered<LengthDistribution, QuantileLength> kQuantileLength{"quantiles", "Given by some quantiles."};

}  // namespace
}  // namespace servetwin
