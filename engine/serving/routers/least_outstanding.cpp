// The replica with the fewest requests running or waiting; the lowest number among equals.
#include "engine/base/registry.h"
#include "engine/serving/router.h"

namespace servetwin {
namespace {

class LeastOutstanding final : public Router {
 public:
  struct Params {
    template <class Visitor>
    void fields(Visitor& /*v*/) {}
  };
  explicit LeastOutstanding(const Params& /*params*/) {}

  std::optional<ReplicaId> route(const RequestSpec& /*request*/,
                                 const std::vector<ReplicaView>& replicas) override {
    const ReplicaView* best = nullptr;
    for (const ReplicaView& replica : replicas) {
      if (replica.state != ReplicaState::kUp) continue;
      if (best == nullptr || load(replica) < load(*best)) best = &replica;
    }
    if (best == nullptr) return std::nullopt;
    return best->id;
  }

 private:
  static std::int64_t load(const ReplicaView& replica) { return replica.running + replica.waiting; }
};

const Registered<Router, LeastOutstanding> kLeastOutstanding{"least_outstanding",
                                                             "Fewest requests running or waiting."};

}  // namespace
}  // namespace servetwin
