// The real core behind a GoldenDriver: an executor worked by hand, block ids followed from the KV listener,
// and each step's rows expanded from the plan's delta.
#include <algorithm>
#include <map>
#include <set>

#include "engine/base/check.h"
#include "engine/base/registry.h"
#include "engine/serving/cluster.h"
#include "engine/serving/kv_table.h"
#include "tests/support/block_ids.h"
#include "tests/support/golden_driver.h"

namespace servetwin {

namespace {

constexpr ReplicaId kReplica{0};

RuleSet make_rules(const GoldenSetup& setup) {
  const bool by_priority = setup.by_priority;
  ConfigNode none;
  none.kind = ConfigNode::Kind::kMap;
  RuleSet rules;
  rules.waiting_order = Registry<WaitingOrder>::instance().make(by_priority ? "priority" : "fcfs", none);
  rules.batch = Registry<BatchRule>::instance().make("running_first", none);
  rules.admission = Registry<AdmissionRule>::instance().make("optimistic", none);
  rules.victim =
      Registry<VictimRule>::instance().make(by_priority ? "least_important" : "last_admitted", none);
  const bool swaps = setup.engine.host_blocks.value > 0;
  rules.pressure = Registry<PressureRule>::instance().make(swaps ? "swap" : "recompute", none);
  return rules;
}

class CoreDriver final : public GoldenDriver, private Executor {
 public:
  explicit CoreDriver(const GoldenSetup& setup)
      : ids_(setup.engine.num_blocks.value),
        plain_(setup.engine.plain_loop),
        cluster_({{setup.engine}, 0},
                 [&setup] { return make_rules(setup); },
                 Registry<Router>::instance().make("round_robin", ConfigNode{}),
                 {}) {
    if (plain_) cluster_.at(kReplica).kv().set_listener(&ids_);
  }

  void advance_to(Time now) override { now_ = now; }
  void cancel(RequestId id) override { tell(Cancelled{id, EndReason::kClient}); }

  void finish_step(std::int64_t step, const std::vector<RequestId>& stops, bool alone) override {
    if (!plain_ && alone && stops.empty() && cluster_.can_advance(kReplica)) {
      start_step(cluster_.advance(kReplica, now_));
      return;
    }
    const StepId id{static_cast<std::uint64_t>(step)};
    for (const RequestId stop : stops) tell(SequenceOut{stop, id, EndState::kStop});
    tell(StepDone{kReplica, id, 1});
  }

  void ready(RequestId id, WaitsFor what) override { tell(Ready{id, what, true}); }

  void reset_cache(bool forced) override {
    tell(Admin{kReplica, forced ? AdminAction::kResetCacheForced : AdminAction::kResetCache});
    note_preempted();
  }

  void arrive(const RequestSpec& spec) override {
    cluster_.add_request(spec);
    tell(Arrived{spec.id});
  }

  std::optional<StepTrace> plan() override {
    while (!started_ && due_ && *due_ <= now_) {
      due_.reset();
      tell(PlanDue{kReplica});
      if (!started_) note_preempted();
    }
    return std::exchange(started_, std::nullopt);
  }

  std::vector<EndTrace> take_ends() override {
    std::sort(ends_.begin(), ends_.end(), [](const EndTrace& a, const EndTrace& b) {
      return std::tie(a.time, a.request) < std::tie(b.time, b.request);
    });
    return std::exchange(ends_, {});
  }

  std::int64_t free_blocks() const override { return cluster_.at(kReplica).state().kv().free().value; }
  std::int64_t used_blocks() const override { return cluster_.at(kReplica).state().kv().used().value; }

  std::optional<std::vector<int>> block_ids(RequestId id) const override {
    const Slot slot = cluster_.requests().find(id);
    if (!plain_ || slot == kNoSlot) return std::nullopt;
    const RequestState& state = cluster_.requests()[slot];
    const ReplicaCore& replica = cluster_.at(kReplica).state();
    std::vector<int> ids;
    if (state.phase != Phase::kRunning) return ids;
    for (std::size_t table = 0; table < static_cast<std::size_t>(replica.windows.tables()); ++table) {
      for_entries(replica.kv(), replica.windows.owner_of(state.owner, table),
                  static_cast<std::int32_t>(state.held), [&](OwnerSlot owner, std::int32_t index) {
                    ids.push_back(owner == kNoOwner ? 0 : ids_.id(owner, index));
                  });
    }
    return ids;
  }

  std::optional<std::vector<int>> free_ids() const override {
    if (!plain_) return std::nullopt;
    return ids_.free();
  }

  std::optional<std::pair<std::uint64_t, std::uint64_t>> digests() const override {
    return std::pair{cluster_.decisions_digest(), cluster_.timeline_digest()};
  }

 private:
  void tell(const Event& event) {
    const std::uint32_t nth = counts_[{now_, event.index(), subject_of(event)}]++;
    cluster_.handle({now_, event, nth}, *this);
    cluster_.at(kReplica).kv().check_all();
  }

  // Who lost its blocks outside a started step: as an empty plan says, else the last of the running list
  // first.
  void note_preempted() {
    for (const PlanEntry& entry : cluster_.at(kReplica).plan().entries) {
      if (entry.action == PlanAction::kSwapOut) note_swap_out(entry);
      const bool listed = std::count(running_.begin(), running_.end(), entry.request) > 0;
      if (entry.action == PlanAction::kPreempt && listed && !runs(entry.request))
        note_preempted(entry.request);
    }
    for (std::size_t i = running_.size(); i-- > 0;) {
      if (!runs(running_[i])) note_preempted(running_[i]);
    }
  }

  // A plan that started no step may be looked at more than once.
  void note_swap_out(const PlanEntry& entry) {
    const std::pair out{entry.request, entry.tokens.value};
    const bool listed = std::count(running_.begin(), running_.end(), entry.request) > 0;
    if (listed) swapped_out_.push_back(out);
  }

  bool runs(RequestId id) const {
    const Slot slot = cluster_.requests().find(id);
    return slot == kNoSlot || cluster_.requests()[slot].phase == Phase::kRunning;
  }

  void note_preempted(RequestId id) {
    preempted_.push_back(id);
    decoding_.erase(id);
    std::erase(running_, id);
  }

  void start_step(const StepPlan& plan) override {
    StepTrace trace;
    trace.step = static_cast<std::int64_t>(raw(plan.step));
    trace.time = plan.time;
    trace.used = plan.used_blocks.value;
    trace.free = plan.free_blocks.value;
    trace.held = plan.held;
    trace.free_ids = free_ids();
    std::map<RequestId, PlanEntry> entries;
    for (const PlanEntry& entry : plan.entries) {
      if (entry.action == PlanAction::kPreempt) {
        note_preempted(entry.request);
        continue;
      }
      if (entry.action == PlanAction::kSwapOut) {
        note_swap_out(entry);
        continue;
      }
      if (entry.action == PlanAction::kSwapIn) {
        trace.swapped_in.emplace_back(entry.request, entry.tokens.value);
        continue;
      }
      if (entry.action == PlanAction::kAdmit) {
        running_.push_back(entry.request);
        trace.admitted.emplace_back(entry.request, entry.hit.value);
      }
      const bool is_new = entries.emplace(entry.request, entry).second;
      CHECK_INVARIANT(is_new, raw(entry.request));
    }
    for (const RequestId id : running_) {
      const auto entry = entries.find(id);
      const bool implied = entry == entries.end();
      if (implied ? decoding_.count(id) == 0 : entry->second.action == PlanAction::kHold) continue;
      trace.tokens.emplace_back(id, implied ? 1 : entry->second.tokens.value);
      if (!implied && !entry->second.sampled) continue;
      trace.sampled.push_back(id);
      decoding_.insert(id);
    }
    trace.preempted = std::exchange(preempted_, {});
    trace.swapped_out = std::exchange(swapped_out_, {});
    trace.swap_blocks = plan.shape.swap_out_blocks + plan.shape.swap_in_blocks;
    check_against_rows(plan, trace);
    started_ = trace;
  }

  void check_against_rows(const StepPlan& plan, const StepTrace& trace) const {
    std::int64_t tokens = 0;
    for (const auto& row : trace.tokens) tokens += row.second;
    CHECK_INVARIANT(plan.shape.tokens == tokens, plan.shape.tokens, tokens);
    CHECK_INVARIANT(plan.shape.sequences == std::ssize(trace.tokens));
    CHECK_INVARIANT(plan.shape.sampled_rows == std::ssize(trace.sampled));
    CHECK_INVARIANT(plan.shape.new_sequences == std::ssize(trace.admitted));
    CHECK_INVARIANT(plan.running == std::ssize(running_));
    if (!plain_) return;
    CHECK_INVARIANT(plan.rows.size() == trace.tokens.size());
    for (std::size_t i = 0; i < plan.rows.size(); ++i) {
      CHECK_INVARIANT(plan.rows[i].request == trace.tokens[i].first);
      CHECK_INVARIANT(plan.rows[i].tokens.value == trace.tokens[i].second);
    }
  }

  void plan_at(ReplicaId /*replica*/, Time when) override {
    CHECK_INVARIANT(!due_);
    due_ = when;
  }

  void end_request(const RequestRecord& record) override {
    std::erase(running_, record.id);
    decoding_.erase(record.id);
    ends_.push_back({record.id, record.end_state, record.outputs.value, record.preemptions, record.end});
  }

  BlockIds ids_;
  bool plain_;
  Cluster cluster_;
  Time now_ = kTimeZero;
  std::map<std::tuple<Time, std::size_t, std::uint32_t>, std::uint32_t> counts_;
  std::optional<Time> due_;
  std::optional<StepTrace> started_;
  std::vector<RequestId> running_;  // in order of admission
  std::set<RequestId>
      decoding_;  // running and past their prompt: they advance unless an entry says otherwise
  std::vector<RequestId> preempted_;  // since the last started step
  std::vector<std::pair<RequestId, std::int64_t>> swapped_out_;
  std::vector<EndTrace> ends_;
};

}  // namespace

std::unique_ptr<GoldenDriver> make_core_driver(const GoldenSetup& setup) {
  return std::make_unique<CoreDriver>(setup);
}

}  // namespace servetwin
