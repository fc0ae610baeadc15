// Virtual time: the earliest event of all queues is next, and runs of equal decode steps are taken together.
#include "sim/backend/sim_backend.h"

#include <algorithm>
#include <utility>

#include "engine/base/check.h"
#include "engine/workload/client_limits.h"
#include "sim/backend/step_input.h"

namespace servetwin {

SimBackend::SimBackend(RequestSource& source, std::vector<const CostModel*> costs, const SimOptions& options)
    : source_(source),
      costs_(std::move(costs)),
      options_(options),
      tokeniser_free_(static_cast<std::size_t>(options.front_end.servers), kTimeZero) {
  CHECK_INVARIANT(!costs_.empty(), costs_.size());
}

void SimBackend::attach(Cluster& cluster) {
  cluster_ = &cluster;
  reacts_ = source_.reacts_to_ends();
  arrival_ = source_.next_arrival();
  replicas_.resize(cluster.num_replicas());
  CHECK_INVARIANT(costs_.size() == 1 || costs_.size() == replicas_.size(), costs_.size(), replicas_.size());
  for (std::size_t i = 0; i < replicas_.size(); ++i) {
    const EngineConfig& config = cluster.at(ReplicaId{static_cast<std::uint16_t>(i)}).state().config;
    replicas_[i].overlaps = config.in_flight.depth > 1;
  }
}

// When something that is not a replica's own doing happens next.
Time SimBackend::next_outside() {
  return outside_.empty() ? arrival_ : std::min(arrival_, outside_.top().time);
}

// What is no longer due before the next arrival will never be.
Time SimBackend::next_time() {
  while (!outside_.empty() && outside_.top().time < arrival_ && !still_due(outside_.top())) outside_.pop();
  const Time inside = inside_.empty() ? kTimeNever : inside_.top().time;
  return std::min({plan_.time, inside, next_outside()});
}

bool SimBackend::next(StampedEvent& out) {
  while (true) {
    if (options_.stop != nullptr && *options_.stop) {
      interrupted_ = true;
      return false;
    }
    if (plan_.time != kTimeNever) {
      const bool is_next = plan_is_next();
      out = plan_;
      plan_.time = kTimeNever;
      if (is_next) return true;
      inside_.push(out);
    }
    EventQueue* queue = &inside_;
    if (inside_.empty() || (!outside_.empty() && outside_.top() < inside_.top())) queue = &outside_;
    if (queue->empty() && arrival_ == kTimeNever) return false;
    const bool arrives_first =
        arrival_ != kTimeNever &&
        (queue->empty() || arrival_ < queue->top().time ||
         (arrival_ == queue->top().time && EventKind::kArrived < kind_of(queue->top().event)));
    if (arrives_first) {
      arrive(out);
      return true;
    }
    out = queue->pop();
    if (!still_due(out)) continue;
    if (kind_of(out.event) == EventKind::kStepDone && options_.shortcut && run_ahead(out)) continue;
    return true;
  }
}

void SimBackend::arrive(StampedEvent& out) {
  const Time delivered = arrival_;
  source_.take(item_);
  arrival_ = source_.next_arrival();
  RequestSpec& spec = item_.spec;
  if (options_.stat_group != nullptr)
    spec.stat_group = options_.stat_group(spec, options_.stat_group_context);
  if (!tokeniser_free_.empty()) tokenise(spec);
  const Slot slot = cluster_->add_request(spec);
  if (slot >= outputs_.size()) outputs_.resize(std::size_t{slot} + 1);
  outputs_[slot] = item_.truth.output.value;
  schedule_client(item_);
  ++num_arrivals_;
  out = {delivered, Arrived{spec.id}, 0};
}

void SimBackend::tokenise(RequestSpec& spec) {
  spec.waits_for = spec.waits_for | WaitsFor::kTokenised;
  Time& server = *std::min_element(tokeniser_free_.begin(), tokeniser_free_.end());
  const Duration work = options_.front_end.per_request + options_.front_end.per_token * spec.prompt.value;
  server = std::max(server, spec.arrival) + work;
  outside_.push({server, Ready{spec.id, WaitsFor::kTokenised, true}, 0});
}

void SimBackend::schedule_client(const WorkloadItem& item) {
  const RequestTruth& truth = item.truth;
  std::uint32_t nth = 0;
  for (const auto& [after, why] : client_limits(truth)) {
    if (after.count() >= 0) outside_.push({item.spec.arrival + after, Cancelled{item.spec.id, why}, nth++});
  }
  if (options_.front_end.slow_readers_pause && truth.reader_bytes_per_s > 0) {
    slow_readers_.add(item.spec.id, BytesPerSecond{truth.reader_bytes_per_s},
                      options_.front_end.bytes_per_token, truth.reader_window);
  }
}

// Closes the window of each slow reader that this step's token fills.
void SimBackend::send_tokens(const StepPlan& plan, Time end) {
  CHECK_INVARIANT(plan.all_rows, raw(plan.step));
  for (const StepRow& row : plan.rows) {
    if (!row.sampled) continue;
    const std::optional<Time> opens = slow_readers_.on_token(row.request, end);
    if (!opens.has_value()) continue;
    outside_.push({end, ClientWindow{row.request, false}, 0});
    outside_.push({*opens, ClientWindow{row.request, true}, 1});
  }
}

// Time limits that were met are no events, nor are windows of clients that are served.
bool SimBackend::still_due(const StampedEvent& event) const {
  if (const ClientWindow* window = std::get_if<ClientWindow>(&event.event))
    return cluster_->requests().find(window->request) != kNoSlot;
  const Cancelled* cancelled = std::get_if<Cancelled>(&event.event);
  if (cancelled == nullptr) return true;
  return servetwin::still_due(*cancelled, cluster_->requests());
}

// As a rule a plan is due now and nothing else is: it need not go through the queue.
void SimBackend::plan_at(ReplicaId replica, Time when) {
  if (options_.replayed != nullptr) {
    const std::vector<Duration>& lags = (*options_.replayed)[raw(replica)].plan_lags;
    const std::size_t number = replicas_[raw(replica)].plans++;
    if (number < lags.size()) when += lags[number];
  }
  const StampedEvent due{when, PlanDue{replica}, 0};
  if (plan_.time != kTimeNever) {
    inside_.push(due);
  } else {
    plan_ = due;
  }
}

bool SimBackend::plan_is_next() const {
  const bool before_arrival = plan_.time < arrival_;
  const bool before_outside = outside_.empty() || plan_ < outside_.top();
  return before_arrival && before_outside && (inside_.empty() || plan_ < inside_.top());
}

// With more than one step in flight the host prepares the next step while the device works.
Duration SimBackend::PerReplica::device_time(double total_ns, double host_ns) const {
  const Duration total = duration_from_ns(total_ns);
  if (!overlaps) return total;
  const Duration host = duration_from_ns(host_ns);
  return std::max(total - host, host);
}

Duration SimBackend::duration(PerReplica& replica, const StepPlan& plan) {
  const StepShape& shape = plan.shape;
  if (!shape.pure_decode()) return full_duration(replica, plan);
  const auto context = static_cast<double>(shape.decode_context);
  if (replica.line_sequences != shape.decode_sequences || replica.line_graph != shape.graph_size ||
      !replica.line.holds(context)) {
    const std::optional<ContextLine> line = cost(plan.replica).decode_line(shape);
    replica.has_line = line.has_value();
    replica.line = line.value_or(ContextLine{});
    replica.line_sequences = shape.decode_sequences;
    replica.line_graph = shape.graph_size;
  }
  if (!replica.has_line) return full_duration(replica, plan);
  return replica.device_time(replica.line.base_ns + replica.line.slope_ns * context, replica.line.host_ns);
}

Duration SimBackend::full_duration(const PerReplica& replica, const StepPlan& plan) {
  const CostModel& model = cost(plan.replica);
  const StepInput input = step_input(plan, model, rows_);
  if (!replica.overlaps) return model.step_time(input);
  const StepCost full = model.step(input);
  const double host_ns = full.ops[static_cast<std::size_t>(OpClass::kHost)].ns;
  return replica.device_time(static_cast<double>(full.total.count()), host_ns);
}

// Copies come one after the other, before the step that needs the room or the blocks.
Duration SimBackend::swap_time(PerReplica& replica, const StepShape& shape) const {
  const std::int64_t blocks = replica.blocks_to_copy + shape.swap_out_blocks + shape.swap_in_blocks;
  if (blocks == 0) return Duration{0};
  replica.blocks_to_copy = 0;
  return duration_from_ns(options_.swap_block_ns * static_cast<double>(blocks));
}

std::optional<Duration> SimBackend::replayed_duration(const StepPlan& plan) const {
  if (options_.replayed == nullptr) return std::nullopt;
  const std::vector<Duration>& steps = (*options_.replayed)[raw(plan.replica)].steps;
  const std::uint64_t index = raw(plan.step) - 1;
  return index < steps.size() ? std::optional<Duration>(steps[index]) : std::nullopt;
}

// Prices the step just planned and announces the requests that stop with it. Returns when it ends.
Time SimBackend::begin_step(PerReplica& replica, const StepPlan& plan) {
  ++num_steps_;
  const Duration copies = swap_time(replica, plan.shape);
  const std::optional<Duration> known = replayed_duration(plan);
  const Time end = known.has_value()
                       ? plan.time + *known
                       : std::max(plan.time, replica.device_free) + copies + duration(replica, plan);
  replica.device_free = end;
  if (!slow_readers_.empty()) send_tokens(plan, end);
  replica.stop_pending = false;
  if (!plan.entries.empty() || !replica.stops.skip_plan()) announce_stops(replica, plan, end);
  return end;
}

void SimBackend::announce_stops(PerReplica& replica, const StepPlan& plan, Time end) {
  stops_.clear();
  replica.stops.on_plan(plan, stops_);
  for (const RequestId request : stops_)
    inside_.push({end, SequenceOut{request, plan.step, EndState::kStop}, 0});
  replica.stop_pending = !stops_.empty();
}

void SimBackend::start_step(const StepPlan& plan) {
  PerReplica& replica = replicas_[raw(plan.replica)];
  for (const PlanEntry& entry : plan.entries) {
    if (entry.action != PlanAction::kAdmit || entry.resumed) continue;
    const Slot slot = cluster_->requests().find(entry.request);
    CHECK_INVARIANT(slot < outputs_.size(), raw(entry.request));
    // The core ends those that reach their limit itself.
    if (outputs_[slot] < cluster_->requests()[slot].limit) replica.stops.add(entry.request, outputs_[slot]);
  }
  const Time end = begin_step(replica, plan);
  inside_.push({end, StepDone{plan.replica, plan.step, 1}, 0});
}

// Completes decode steps one after the other while each ends before anything else can reach the replica. True
// when it did some: the last of them is pending then.
bool SimBackend::run_ahead(const StampedEvent& done) {
  const ReplicaId id = std::get<StepDone>(done.event).replica;
  PerReplica& replica = replicas_[raw(id)];
  Time outside = next_outside();
  // An end elsewhere may bring an arrival here.
  if (reacts_ && !inside_.empty()) outside = std::min(outside, inside_.top().time);
  Time end = done.time;
  if (end >= outside || replica.stop_pending || !cluster_->can_advance(id)) return false;
  Replica& core = cluster_->at(id);
  std::uint32_t ran = 0;
  StepId step{0};
  do {
    const StepPlan& plan = core.advance(end);
    end = begin_step(replica, plan);
    step = plan.step;
    ++ran;
  } while (end < outside && !replica.stop_pending && core.can_go_on());
  inside_.push({end, StepDone{id, step, ran + 1}, 0});
  return true;
}

void SimBackend::note_reset(ReplicaId replica) {
  const RequestTable& requests = cluster_->requests();
  for (Slot slot = 0; slot < requests.capacity(); ++slot) {
    const RequestState& state = requests[slot];
    if (state.spec.id == kNoRequest || state.replica != replica) continue;
    replicas_[raw(replica)].stops.restart(state.spec.id, state.outputs);
  }
}

void SimBackend::end_request(const RequestRecord& record) {
  if (record.replica != kNoReplica) replicas_[raw(record.replica)].stops.remove(record.id);
  slow_readers_.remove(record.id);
  if (options_.front_end.per_output.count() == 0) {
    source_.on_end(record);
  } else {
    RequestRecord seen = record;  // by the client
    seen.end += options_.front_end.per_output;
    source_.on_end(seen);
  }
  if (reacts_) arrival_ = source_.next_arrival();
}

}  // namespace servetwin
