// Events to replicas, requests to routers, ends to everyone who must know.
#include "engine/serving/cluster.h"

#include <algorithm>
#include <utility>

#include "engine/base/check.h"
#include "engine/serving/step_record.h"

namespace servetwin {

Cluster::Cluster(const ClusterConfig& config,
                 const std::function<RuleSet()>& make_rules,
                 std::unique_ptr<Router> router,
                 std::vector<Observer*> observers)
    : observers_(std::move(observers)),
      configs_(config.replicas),
      plan_due_(config.replicas.size(), 0),
      status_(config.replicas.size(), ReplicaState::kUp),
      router_(std::move(router)),
      max_held_(config.max_held) {
  CHECK_INVARIANT(!configs_.empty(), configs_.size());
  for (std::size_t i = 0; i < configs_.size(); ++i) {
    const ReplicaId id{static_cast<std::uint16_t>(i)};
    replicas_.push_back(std::make_unique<Replica>(id, configs_[i], make_rules(), table_, observers_, *this));
  }
}

Cluster::~Cluster() = default;

// What each kind of event does.
struct Cluster::Handler {
  Cluster& cluster;
  Time now;

  Slot slot(RequestId id) const { return cluster.table_.find(id); }

  void operator()(const Cancelled& e) const {
    const Slot at = slot(e.request);
    if (at != kNoSlot) cluster.cancel(at, e.why, now);
  }

  void operator()(const SequenceOut& e) const {
    const Slot at = slot(e.request);
    if (at == kNoSlot) return;
    const ReplicaId replica = cluster.table_[at].replica;
    CHECK_INVARIANT(replica != kNoReplica, raw(e.request));
    cluster.at(replica).announce_end(at, e.step, e.end);
  }

  void operator()(const StepDone& e) const {
    cluster.at(e.replica).step_done(e.step, now);
    cluster.post_plan(e.replica, now);
    cluster.route_held(now);
  }

  void operator()(const Ready& e) const {
    const Slot at = slot(e.request);
    if (at == kNoSlot) return;
    RequestState& state = cluster.table_[at];
    if (!e.ok) {
      cluster.end(at, EndState::kFailed, EndReason::kBackend, now);
      return;
    }
    state.waits_for = without(state.waits_for, e.what);
    if (state.phase == Phase::kTokenising && !has(state.waits_for, WaitsFor::kTokenised)) {
      cluster.route_or_hold(at, now);
    } else if (state.replica != kNoReplica) {
      cluster.at(state.replica).unblock(at);
      cluster.post_plan(state.replica, now);
    }
  }

  void operator()(const ReplicaChanged& e) const {
    CHECK_INVARIANT(e.state == ReplicaState::kUp || e.state == ReplicaState::kDraining, raw(e.replica));
    cluster.status_[raw(e.replica)] = e.state;
    cluster.route_held(now);
  }

  void operator()(const ClientWindow& e) const {
    const Slot at = slot(e.request);
    if (at == kNoSlot || cluster.table_[at].replica == kNoReplica) return;
    const ReplicaId replica = cluster.table_[at].replica;
    cluster.at(replica).set_window(at, e.open);
    cluster.post_plan(replica, now);
  }

  void operator()(const Admin& e) const {
    Replica& replica = cluster.at(e.replica);
    switch (e.action) {
      case AdminAction::kPause:
        replica.pause(true);
        break;
      case AdminAction::kResume:
        replica.pause(false);
        break;
      case AdminAction::kResetCache:
        replica.reset_cache(false, now);
        break;
      case AdminAction::kResetCacheForced:
        replica.reset_cache(true, now);
        cluster.executor_->note_reset(e.replica);
        break;
      case AdminAction::kDrain:
        cluster.status_[raw(e.replica)] = ReplicaState::kDraining;
        break;
    }
    cluster.post_plan(e.replica, now);
  }

  void operator()(const Arrived& e) const {
    const Slot at = slot(e.request);
    CHECK_INVARIANT(at != kNoSlot, raw(e.request));
    cluster.arrive(at, now);
  }

  void operator()(const PlanDue& e) const { cluster.plan(e.replica, now); }
};

void Cluster::handle(const StampedEvent& event, Executor& executor) {
  CheckContext& context = check_context();
  context.time_ns = to_ns(event.time);
  context.event_number = ++num_events_;
  executor_ = &executor;
  for (Observer* observer : observers_) observer->on_event(event);
  std::visit(Handler{*this, event.time}, event.event);
}

void Cluster::arrive(Slot slot, Time now) {
  RequestState& state = table_[slot];
  for (Observer* observer : observers_) observer->on_arrived(state.spec, now);
  // A prompt that no replica can hold is turned away at once: at a queue's head it would block everyone for
  // ever.
  EndReason refusal = EndReason::kNone;
  for (const EngineConfig& config : configs_) {
    refusal = Replica::refuses(state.spec, config);
    if (refusal == EndReason::kNone) break;
  }
  if (refusal != EndReason::kNone) {
    end(slot, EndState::kRejected, refusal, now);
  } else if (has(state.waits_for, WaitsFor::kTokenised)) {
    state.phase = Phase::kTokenising;
  } else {
    route_or_hold(slot, now);
  }
}

void Cluster::route_or_hold(Slot slot, Time now) {
  RequestState& state = table_[slot];
  state.ready = now;
  // Those held earlier go first.
  if (held_.empty() && try_route(slot, now)) return;
  if (max_held_ > 0 && static_cast<std::int64_t>(held_.size()) >= max_held_) {
    end(slot, EndState::kRejected, EndReason::kQueueFull, now);
    return;
  }
  state.phase = Phase::kHeld;
  held_.push_back(state.spec.id);
}

// False when the router says to hold it. A full replica queue turns it away: that is routed too.
bool Cluster::try_route(Slot slot, Time now) {
  RequestState& state = table_[slot];
  views_.clear();
  for (std::size_t i = 0; i < replicas_.size(); ++i) {
    views_.push_back(replicas_[i]->view());
    views_.back().state = status_[i];
  }
  const std::optional<ReplicaId> target = router_->route(state.spec, views_);
  if (!target.has_value()) return false;
  CHECK_INVARIANT(raw(*target) < replicas_.size(), raw(*target));
  routing_.add(record_word(RecordTag::kRoute, raw(state.spec.id)));
  routing_.add(raw(*target));
  const EngineConfig& config = configs_[raw(*target)];
  state.replica = *target;
  for (Observer* observer : observers_) observer->on_routed(state.spec, *target, now);
  const EndReason refusal = Replica::refuses(state.spec, config);
  const bool full = config.max_queued > 0 && views_[raw(*target)].waiting >= config.max_queued;
  if (refusal != EndReason::kNone || full) {
    end(slot, EndState::kRejected, full ? EndReason::kQueueFull : refusal, now);
    return true;
  }
  at(*target).enqueue(slot);
  post_plan(*target, now);
  return true;
}

void Cluster::route_held(Time now) {
  while (!held_.empty()) {
    const Slot slot = table_.find(held_.front());
    if (slot != kNoSlot && !try_route(slot, now)) return;
    held_.pop_front();
  }
}

void Cluster::cancel(Slot slot, EndReason why, Time now) {
  end(slot, why == EndReason::kClient ? EndState::kCancelled : EndState::kTimedOut, why, now);
}

// Ends a request that its replica did not end itself.
void Cluster::end(Slot slot, EndState as, EndReason reason, Time now) {
  const RequestState& state = table_[slot];
  const ReplicaId replica = state.replica;
  const bool in_replica = state.phase == Phase::kWaiting || state.phase == Phase::kRunning;
  if (in_replica) at(replica).leave(slot, as);
  if (!in_replica) {
    routing_.add(record_word(RecordTag::kEnd, raw(state.spec.id)));
    routing_.add_signed(static_cast<std::int64_t>(as));
  }
  on_replica_end(slot, as, reason, now);
  if (!in_replica) return;
  post_plan(replica, now);
  route_held(now);
}

void Cluster::on_replica_end(Slot slot, EndState as, EndReason reason, Time now) {
  const ReplicaId replica = table_[slot].replica;
  const Tokens block_size = replica == kNoReplica ? Tokens{0} : configs_[raw(replica)].block_size;
  const RequestRecord record = table_.record(slot, block_size, as, reason, now);
  table_.remove(slot);
  for (Observer* observer : observers_) observer->on_end(record);
  executor_->end_request(record);
}

void Cluster::post_plan(ReplicaId replica, Time now) {
  at(replica).disturb();
  if (plan_due(replica) || !at(replica).may_plan() || !at(replica).has_work()) return;
  plan_due_[raw(replica)] = 1;
  executor_->plan_at(replica, now + configs_[raw(replica)].batching_delay);
}

void Cluster::plan(ReplicaId id, Time now) {
  plan_due_[raw(id)] = 0;
  Replica& replica = at(id);
  if (!replica.may_plan()) return;
  if (replica.plan_step(now)) {
    executor_->start_step(replica.plan());
  } else {
    if (!replica.plan_preempted()) return;
    executor_->note_empty_plan(replica.plan());
    // Those who could not grow made room: who may enter is for the next plan to say. It comes with the next
    // step that comes back, or at once when there is none.
    if (!replica.idle()) return;
  }
  if (replica.may_plan()) post_plan(id, now);  // fills the steps in flight before waiting for one
}

std::vector<StalledRequest> Cluster::stalled(std::size_t most) const {
  std::vector<StalledRequest> result;
  for (Slot slot = 0; slot < table_.capacity() && result.size() < most; ++slot) {
    const RequestState& state = table_[slot];
    if (state.spec.id == kNoRequest) continue;
    StalledRequest entry;
    entry.request = state.spec.id;
    entry.replica = state.replica;
    entry.running = state.phase == Phase::kRunning;
    if (entry.replica != kNoReplica) {
      const ReplicaCore& core = at(entry.replica).state();
      entry.free = core.kv().free();
      if (entry.running) entry.holds = Blocks{core.held(state)};
      entry.needs = core.most_blocks(Tokens{state.known()}) - entry.holds;
    }
    if (state.waits_for != WaitsFor::kNothing) {
      entry.why = "waits for the backend";
    } else if (entry.replica == kNoReplica) {
      entry.why = "held: no replica took it";
    } else if (state.window_closed) {
      entry.why = "its client does not read";
    } else if (at(entry.replica).state().paused) {
      entry.why = "its replica is paused";
    } else if (entry.needs > entry.free) {
      entry.why = "needs blocks";
    } else {
      entry.why = state.heads_queue ? "the admission rule keeps it out" : "waits behind others";
    }
    result.push_back(entry);
  }
  std::sort(result.begin(), result.end(),
            [](const StalledRequest& a, const StalledRequest& b) { return a.request < b.request; });
  return result;
}

std::uint64_t Cluster::decisions_digest() const {
  Digest fold;
  fold.add(kStepRecordVersion);
  fold.add(routing_.value());
  for (const auto& replica : replicas_) fold.add(replica->state().decisions.value());
  return fold.value();
}

std::uint64_t Cluster::timeline_digest() const {
  Digest fold;
  fold.add(decisions_digest());
  for (const auto& replica : replicas_) fold.add(replica->state().timeline.value());
  return fold.value();
}

void serve(Cluster& cluster, Backend& backend) {
  StampedEvent event;
  while (backend.next(event)) cluster.handle(event, backend);
}

}  // namespace servetwin
