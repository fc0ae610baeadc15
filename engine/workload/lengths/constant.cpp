// Every request has the same length.
#include "engine/base/registry.h"
#include "engine/workload/length_distribution.h"

namespace servetwin {
namespace {

class ConstantLength final : public LengthDistribution {
 public:
  struct Params {
    Tokens value;
    template <class Visitor>
    void fields(Visitor& v) {
      v("value", value, "Tokens.", kRequired, Range{Tokens{1}, Tokens{100'000'000}});
    }
  };
  explicit ConstantLength(const Params& params) : value_(params.value) {}
  Tokens quantile(double) const override { return value_; }

 private:
  Tokens value_;
};

const Registered<LengthDistribution, ConstantLength> kConstantLength{"constant",
                                                                     "The same for every request."};

}  // namespace
}  // namespace servetwin
