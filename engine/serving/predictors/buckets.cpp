// A classifier of lengths into buckets that double, right with a stated accuracy and otherwise one bucket
// off: what proxy models of the literature deliver. It answers with the bucket's upper end.
#include <algorithm>

#include "engine/base/check.h"
#include "engine/base/registry.h"
#include "engine/base/rng.h"
#include "engine/serving/predictor.h"

namespace servetwin {
namespace {

class Buckets final : public Predictor {
 public:
  struct Params {
    Tokens first{32};
    double accuracy = 0.8;
    std::int64_t seed = 1;

    template <class Visitor>
    void fields(Visitor& v) {
      v("first", first, "Upper end of the first bucket; each further one is twice as long.", Range{1, 65536});
      v("accuracy", accuracy, "Share of requests put into the right bucket.", Range{0.0, 1.0});
      v("seed", seed, "Of the mistakes alone.", Range{0, 1000000000});
    }
  };
  explicit Buckets(const Params& params) : params_(params) {}

  Tokens outputs(const RequestSpec& request) const override {
    CHECK_INVARIANT(request.told_outputs > 0, raw(request.id));
    std::int64_t end = params_.first.value;
    while (end < request.told_outputs) end *= 2;
    const StreamKey key{static_cast<std::uint64_t>(params_.seed), Stream::kPredictions, 1};
    const double drawn = draw_unit(key, raw(request.id));
    const double wrong = 1.0 - params_.accuracy;
    if (drawn < wrong) end = drawn < wrong / 2 ? std::max(end / 2, params_.first.value) : end * 2;
    return std::min(Tokens{end}, request.max_tokens);
  }
  bool oracle() const override { return true; }

 private:
  Params params_;
};

const Registered<Predictor, Buckets> kBuckets{
    "buckets", "The length's bucket, right with a given accuracy; the report is marked."};

}  // namespace
}  // namespace servetwin
