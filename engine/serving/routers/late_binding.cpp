// Holds requests in the cluster until a replica has a free slot (one queue for all, as in M/M/c); the lowest
// number among free replicas.
#include "engine/base/registry.h"
#include "engine/serving/router.h"

namespace servetwin {
namespace {

class LateBinding final : public Router {
 public:
  struct Params {
    template <class Visitor>
    void fields(Visitor& /*v*/) {}
  };
  explicit LateBinding(const Params& /*params*/) {}

  std::optional<ReplicaId> route(const RequestSpec& /*request*/,
                                 const std::vector<ReplicaView>& replicas) override {
    for (const ReplicaView& replica : replicas) {
      const bool free_slot = replica.running + replica.waiting < replica.max_num_seqs;
      if (replica.state == ReplicaState::kUp && free_slot) return replica.id;
    }
    return std::nullopt;
  }
};

const Registered<Router, LateBinding> kLateBinding{
    "late_binding", "One queue for all; a request goes to the first free slot."};

}  // namespace
}  // namespace servetwin
