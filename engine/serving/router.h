// Which replica a request goes to, or nothing: hold it and ask again when a replica's state changes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/base/ids.h"
#include "engine/base/units.h"
#include "engine/serving/event.h"
#include "engine/serving/request.h"

namespace servetwin {

// What a router may see of a replica, as of now.
struct ReplicaView {
  ReplicaId id{0};
  ReplicaState state = ReplicaState::kUp;
  std::int64_t running = 0;
  std::int64_t waiting = 0;
  std::int64_t max_num_seqs = 0;
  Blocks free_blocks{};
};

class Router {
 public:
  virtual ~Router() = default;
  // Only replicas that are up are eligible. May keep its own state (a round-robin cursor).
  virtual std::optional<ReplicaId> route(const RequestSpec& request,
                                         const std::vector<ReplicaView>& replicas) = 0;
};

}  // namespace servetwin
