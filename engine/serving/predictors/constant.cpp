// The same length for everyone, or what the client asks for if that is less: needs no knowledge.
#include <algorithm>

#include "engine/base/registry.h"
#include "engine/serving/predictor.h"

namespace servetwin {
namespace {

class Constant final : public Predictor {
 public:
  struct Params {
    Tokens tokens{256};

    template <class Visitor>
    void fields(Visitor& v) {
      v("tokens", tokens, "Outputs expected of everyone, max_tokens at most.", Range{1, 1000000000});
    }
  };
  explicit Constant(const Params& params) : params_(params) {}

  Tokens outputs(const RequestSpec& request) const override {
    return std::min(params_.tokens, request.max_tokens);
  }

 private:
  Params params_;
};

const Registered<Predictor, Constant> kConstant{"constant", "The same length for everyone."};

}  // namespace
}  // namespace servetwin
