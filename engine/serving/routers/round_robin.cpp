// Replicas in turn, skipping those that are not up.
#include "engine/base/registry.h"
#include "engine/serving/router.h"

namespace servetwin {
namespace {

class RoundRobin final : public Router {
 public:
  struct Params {
    template <class Visitor>
    void fields(Visitor& /*v*/) {}
  };
  explicit RoundRobin(const Params& /*params*/) {}

  std::optional<ReplicaId> route(const RequestSpec& /*request*/,
                                 const std::vector<ReplicaView>& replicas) override {
    for (std::size_t tried = 0; tried < replicas.size(); ++tried) {
      const ReplicaView& replica = replicas[next_];
      next_ = (next_ + 1) % replicas.size();
      if (replica.state == ReplicaState::kUp) return replica.id;
    }
    return std::nullopt;
  }

 private:
  std::size_t next_ = 0;
};

const Registered<Router, RoundRobin> kRoundRobin{"round_robin", "Replicas in turn."};

}  // namespace
}  // namespace servetwin
