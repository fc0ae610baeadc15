// The true length. No engine can know it: the best that any predictor could do.
#include <algorithm>

#include "engine/base/check.h"
#include "engine/base/registry.h"
#include "engine/serving/predictor.h"

namespace servetwin {
namespace {

class Oracle final : public Predictor {
 public:
  struct Params {
    template <class Visitor>
    void fields(Visitor& /*v*/) {}
  };
  explicit Oracle(const Params& /*params*/) {}

  Tokens outputs(const RequestSpec& request) const override {
    CHECK_INVARIANT(request.told_outputs > 0, raw(request.id));
    return std::min(Tokens{request.told_outputs}, request.max_tokens);
  }
  bool oracle() const override { return true; }
};

const Registered<Predictor, Oracle> kOracle{"oracle", "The true length; the report is marked."};

}  // namespace
}  // namespace servetwin
