// A waiting order out of tree: the longest prompt first.
#include <tuple>

#include "engine/base/registry.h"
#include "engine/serving/rules.h"

namespace {

using namespace servetwin;

class LongestFirst final : public WaitingOrder {
 public:
  struct Params {
    template <class Visitor>
    void fields(Visitor& /*v*/) {}
  };
  explicit LongestFirst(const Params& /*params*/) {}

  bool before(const WaitingView& a, const WaitingView& b) const override {
    return std::tuple(-a.request->prompt.value, a.request->id) <
           std::tuple(-b.request->prompt.value, b.request->id);
  }
};

const Registered<WaitingOrder, LongestFirst> kLongestFirst{"longest_first", "Longest prompt first; starves."};

}  // namespace
