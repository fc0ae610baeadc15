// A plug-in that registers a name which the program has: it must be refused with a message.
#include "engine/base/registry.h"
#include "engine/serving/rules.h"

namespace {

using namespace servetwin;

class Taken final : public WaitingOrder {
 public:
  struct Params {
    template <class Visitor>
    void fields(Visitor& /*v*/) {}
  };
  explicit Taken(const Params& /*params*/) {}

  bool before(const WaitingView& a, const WaitingView& b) const override { return a.place < b.place; }
};

const Registered<WaitingOrder, Taken> kTaken{"fcfs", "Not the first of that name."};

}  // namespace
