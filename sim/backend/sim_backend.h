// The simulated world: arrivals from a source, step durations from a cost model, all on a virtual clock.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "costmodels/cost_model.h"
#include "engine/journal/replayed_durations.h"
#include "engine/serving/cluster.h"
#include "engine/workload/source.h"
#include "sim/backend/slow_readers.h"
#include "sim/backend/stop_tracker.h"
#include "sim/core/event_queue.h"

namespace servetwin {

// Front-end work before a request is routed: a queue in front of `servers` tokenisers (zero: not modelled),
// and what becomes of its output.
struct FrontEndOptions {
  int servers = 0;
  Duration per_request{0};
  Duration per_token{0};
  Duration per_output{0};    // from a token to its client
  Bytes bytes_per_token{0};  // sent to the client
  // A request whose client does not read pauses. Otherwise its deltas are merged and nothing waits. Needs the
  // plain loop.
  bool slow_readers_pause = false;
};

struct SimOptions {
  FrontEndOptions front_end;
  // Groups for pooled token gaps: set per request from its class and arrival; null leaves what the source
  // set.
  std::uint8_t (*stat_group)(const RequestSpec& spec, const void* context) = nullptr;
  const void* stat_group_context = nullptr;
  double swap_block_ns = 0;             // to copy one KV block to the host or back, before the step
  const volatile bool* stop = nullptr;  // becomes true when the run shall end early
  bool shortcut = true;                 // several decode steps at a time where nothing else can happen
  // By replica: durations and plan lags as they were, for as many as there are. Without the shortcut only.
  const std::vector<ReplayedDurations>* replayed = nullptr;
};

class SimBackend final : public Backend {
 public:
  // One cost model per replica, or one for all. All must outlive the backend.
  SimBackend(RequestSource& source, std::vector<const CostModel*> costs, const SimOptions& options);

  // The core it serves; before the first next().
  void attach(Cluster& cluster);
  bool next(StampedEvent& out) override;

  // For a world that learns of its clients while it runs: when next() will say something, after which the
  // source is asked again; and an event that somebody outside brings about, not before the last one told.
  Time next_time();
  void look_at_source() { arrival_ = source_.next_arrival(); }
  void add_event(const StampedEvent& event) { outside_.push(event); }

  void start_step(const StepPlan& plan) override;
  void note_empty_plan(const StepPlan& plan) override {
    replicas_[raw(plan.replica)].stops.on_empty_plan(plan);
    replicas_[raw(plan.replica)].blocks_to_copy += plan.shape.swap_out_blocks;
  }
  void note_reset(ReplicaId replica) override;
  void plan_at(ReplicaId replica, Time when) override;
  void end_request(const RequestRecord& record) override;

  std::uint64_t num_steps() const { return num_steps_; }
  std::uint64_t num_arrivals() const { return num_arrivals_; }
  bool interrupted() const { return interrupted_; }

 private:
  struct PerReplica {
    Duration device_time(double total_ns, double host_ns) const;

    StopTracker stops;
    bool overlaps = false;  // it has more than one step in flight
    Time device_free = kTimeZero;
    std::uint32_t ran = 1;      // steps that the pending StepDone completes
    bool stop_pending = false;  // a SequenceOut of the step in flight is outstanding
    std::int64_t line_sequences = -1;
    std::int64_t line_graph = -1;
    ContextLine line;  // of the decode batch it was last asked for
    bool has_line = false;
    std::size_t plans = 0;            // asked for so far
    std::int64_t blocks_to_copy = 0;  // swapped out by plans that ran nothing
  };

  const CostModel& cost(ReplicaId replica) const { return *costs_[costs_.size() == 1 ? 0 : raw(replica)]; }
  Duration duration(PerReplica& replica, const StepPlan& plan);
  Duration swap_time(PerReplica& replica, const StepShape& shape) const;
  [[gnu::noinline]] Duration full_duration(const PerReplica& replica, const StepPlan& plan);
  std::optional<Duration> replayed_duration(const StepPlan& plan) const;
  Time begin_step(PerReplica& replica, const StepPlan& plan);
  [[gnu::noinline]] void announce_stops(PerReplica& replica, const StepPlan& plan, Time end);
  bool plan_is_next() const;
  void arrive(StampedEvent& out);
  void schedule_client(const WorkloadItem& item);
  void tokenise(RequestSpec& spec);
  void send_tokens(const StepPlan& plan, Time end);
  bool still_due(const StampedEvent& event) const;
  bool run_ahead(const StampedEvent& done);
  Time next_outside();

  RequestSource& source_;
  std::vector<const CostModel*> costs_;
  SimOptions options_;
  Cluster* cluster_ = nullptr;
  EventQueue outside_;  // what clients and front end do
  EventQueue inside_;   // what replicas do, but for one plan that is due at once
  StampedEvent plan_{kTimeNever, PlanDue{ReplicaId{0}}, 0};  // that one; never: none
  std::vector<PerReplica> replicas_;
  std::vector<Time> tokeniser_free_;
  std::vector<std::int64_t> outputs_;  // true output lengths of requests in flight, by slot
  SlowReaders slow_readers_;           // those that pause
  std::vector<RequestId> stops_;
  std::vector<PrefillRow> rows_;  // of the step that is priced
  WorkloadItem item_;
  Time arrival_ = kTimeNever;  // of the source's next item
  bool reacts_ = false;        // ends may change it
  std::uint64_t num_steps_ = 0;
  std::uint64_t num_arrivals_ = 0;
  bool interrupted_ = false;
};

}  // namespace servetwin
