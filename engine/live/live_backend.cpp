// Look, deliver what was seen, then one plan, then look again: a flood cannot postpone planning.
#include "engine/live/live_backend.h"

#include <algorithm>
#include <utility>

#include "engine/base/check.h"
#include "engine/workload/client_limits.h"

namespace servetwin {
namespace {

constexpr Duration kFlushEvery = std::chrono::seconds(1);
constexpr Duration kLongestWait = std::chrono::milliseconds(50);  // a stop request is seen after that

// A heap with the earliest timer in front.
constexpr auto kLater = [](const auto& a, const auto& b) { return a.due > b.due; };

}  // namespace

LiveBackend::LiveBackend(RequestSource& source,
                         std::vector<std::unique_ptr<ModelRunner>> runners,
                         ContentText& text,
                         const LiveOptions& options)
    : source_(source),
      text_(text),
      options_(options),
      runners_(std::move(runners)),
      inbox_(options.max_inbox) {}

LiveBackend::~LiveBackend() {
  if (cluster_ == nullptr) return;
  for (std::size_t i = 0; i < replicas_.size(); ++i) {
    cluster_->at(ReplicaId{static_cast<std::uint16_t>(i)}).kv().set_listener(nullptr);
  }
}

void LiveBackend::attach(Cluster& cluster) {
  cluster_ = &cluster;
  CHECK_INVARIANT(runners_.size() == cluster.num_replicas(), runners_.size(), cluster.num_replicas());
  replicas_.resize(runners_.size());
  for (std::size_t i = 0; i < replicas_.size(); ++i) {
    const ReplicaId id{static_cast<std::uint16_t>(i)};
    const EngineConfig& config = cluster.at(id).state().config;
    CHECK_INVARIANT(config.plain_loop, i);
    replicas_[i].blocks = std::make_unique<BlockTables>(config.num_blocks.value);
    cluster.at(id).kv().set_listener(replicas_[i].blocks.get());
    replicas_[i].worker = std::make_unique<ReplicaWorker>(
        id, std::move(runners_[i]), [this](StepResult result) { inbox_.push_always(std::move(result)); });
  }
  arrival_ = source_.next_arrival();
  start_ = std::chrono::steady_clock::now();
}

Time LiveBackend::now() const {
  return Time{std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now() - start_)};
}

FlopCount LiveBackend::flops() const {
  FlopCount all;
  for (const PerReplica& replica : replicas_) all += replica.worker->flops();
  return all;
}

CollectiveCheck LiveBackend::collectives() const {
  CollectiveCheck all;
  for (const PerReplica& replica : replicas_) {
    const CollectiveCheck one = replica.worker->collectives();
    all.counted += one.counted;
    all.by_formula += one.by_formula;
  }
  return all;
}

bool LiveBackend::next(StampedEvent& out) {
  while (true) {
    while (!ready_.empty()) {
      const Event event = ready_.front();
      ready_.pop_front();
      if (!still_due(event)) continue;
      out = stamped(looked_at_, event);
      return true;
    }
    if (stopped_ || (options_.stop != nullptr && *options_.stop)) {
      interrupted_ = true;
      return false;
    }
    flush_journal();
    if (may_plan_ && take_plan(out)) return true;
    look();
    if (!ready_.empty()) continue;
    if (take_plan(out)) return true;
    if (finished()) return false;
    wait();
  }
}

// Arrivals, cancellations and timers come before the results of steps, each in the order it happened.
void LiveBackend::look() {
  may_plan_ = true;
  looked_at_ = now();
  take_workload(looked_at_);
  messages_.clear();
  inbox_.take_all(messages_);
  std::deque<Event> results;
  for (Message& message : messages_) accept(message, results);
  ready_.insert(ready_.end(), results.begin(), results.end());
}

void LiveBackend::take_workload(Time until) {
  while (true) {
    const Time timer = timers_.empty() ? kTimeNever : timers_.front().due;
    if (arrival_ != kTimeNever && arrival_ <= std::min(timer, until)) {
      arrive_from_source();
    } else if (timer <= until && timer != kTimeNever) {
      std::pop_heap(timers_.begin(), timers_.end(), kLater);
      ready_.emplace_back(timers_.back().event);
      timers_.pop_back();
    } else {
      return;
    }
  }
}

void LiveBackend::arrive_from_source() {
  source_.take(item_);
  arrival_ = source_.next_arrival();
  cluster_->add_request(item_.spec);
  Hidden& hidden = hidden_[item_.spec.id];
  hidden.output = item_.truth.output.value;
  hidden.sampling = options_.sampling;
  hidden.sampling.ignore_eos = true;
  add_timers(item_);
  ready_.emplace_back(Arrived{item_.spec.id});
}

void LiveBackend::add_timers(const WorkloadItem& item) {
  const RequestTruth& truth = item.truth;
  for (const auto& [after, why] : client_limits(truth)) {
    if (after.count() < 0) continue;
    timers_.push_back({item.spec.arrival + after, Cancelled{item.spec.id, why}});
    std::push_heap(timers_.begin(), timers_.end(), kLater);
  }
}

void LiveBackend::accept(Message& message, std::deque<Event>& results) {
  if (auto* submission = std::get_if<Submission>(&message)) {
    RequestSpec& spec = submission->spec;
    spec.arrival = std::min(spec.arrival, looked_at_);
    CHECK_INVARIANT(spec.prompt.value == static_cast<std::int64_t>(submission->prompt.size()), spec.prompt);
    if (options_.journal != nullptr) options_.journal->add_request(spec);
    cluster_->add_request(spec);
    hidden_[spec.id] = {kNoStop, std::move(submission->prompt), std::move(submission->sampling),
                        std::move(submission->listener), submission->draws};
    ready_.emplace_back(Arrived{spec.id});
  } else if (const auto* event = std::get_if<Event>(&message)) {
    ready_.push_back(*event);
  } else if (const auto* question = std::get_if<Question>(&message)) {
    (*question)(std::max(last_.time, kTimeZero));
  } else {
    const StepResult& result = std::get<StepResult>(message);
    if (result.failure) std::rethrow_exception(result.failure);
    --in_flight_;
    if (options_.on_result) options_.on_result(result);
    const bool counts = result.step > replicas_[raw(result.replica)].discarded;
    for (const RequestId request : result.stopped) {
      if (counts) results.emplace_back(SequenceOut{request, result.step, EndState::kStop});
    }
    results.emplace_back(StepDone{result.replica, result.step, 1});
  }
}

// Time limits that were met are no events.
bool LiveBackend::still_due(const Event& event) const {
  const Cancelled* cancelled = std::get_if<Cancelled>(&event);
  if (cancelled == nullptr) return true;
  return servetwin::still_due(*cancelled, cluster_->requests());
}

// The plan that has been due longest.
bool LiveBackend::take_plan(StampedEvent& out) {
  PerReplica* first = nullptr;
  for (PerReplica& replica : replicas_) {
    if (replica.plan != kTimeNever && (first == nullptr || replica.plan < first->plan)) first = &replica;
  }
  if (first == nullptr) return false;
  const Time time = now();
  if (time < first->plan) return false;
  first->plan = kTimeNever;
  may_plan_ = false;
  out = stamped(time, PlanDue{ReplicaId{static_cast<std::uint16_t>(first - replicas_.data())}});
  return true;
}

StampedEvent LiveBackend::stamped(Time time, const Event& event) {
  StampedEvent result{std::max(time, last_.time), event, 0};
  if (!(last_ < result)) result.time = last_.time + Duration{1};
  last_ = result;
  return result;
}

// Nothing will happen any more: also when requests are left that nothing can help.
bool LiveBackend::finished() {
  while (!timers_.empty() && !still_due(timers_.front().event)) {
    std::pop_heap(timers_.begin(), timers_.end(), kLater);
    timers_.pop_back();
  }
  const auto waits = [](const PerReplica& replica) { return replica.plan != kTimeNever; };
  if (in_flight_ > 0 || arrival_ != kTimeNever || !timers_.empty()) return false;
  if (std::any_of(replicas_.begin(), replicas_.end(), waits)) return false;
  return !options_.accepts_clients || inbox_.closed();
}

void LiveBackend::wait() {
  Time until = std::min(arrival_, now() + kLongestWait);
  if (!timers_.empty()) until = std::min(until, timers_.front().due);
  for (const PerReplica& replica : replicas_) until = std::min(until, replica.plan);
  inbox_.wait_until(start_ + until.time_since_epoch());
}

void LiveBackend::flush_journal() {
  if (options_.journal == nullptr) return;
  const Time time = now();
  if (time < flushed_ + kFlushEvery) return;
  options_.journal->flush();
  flushed_ = time;
}

void LiveBackend::start_step(const StepPlan& plan) {
  PerReplica& replica = replicas_[raw(plan.replica)];
  const RequestTable& requests = cluster_->requests();
  for (const PlanEntry& entry : plan.entries) {
    if (entry.action != PlanAction::kAdmit || entry.resumed) continue;
    const RequestState& state = requests[requests.find(entry.request)];
    Hidden& hidden = hidden_.at(entry.request);
    SequenceStart sequence;
    sequence.request = entry.request;
    sequence.prompt = hidden.prompt.empty() ? text_.prompt(state.spec) : std::move(hidden.prompt);
    sequence.sampling = hidden.sampling;
    // The core ends those that reach their limit itself.
    if (hidden.output < state.limit) sequence.stop_after = hidden.output;
    sequence.place = generated_place(state.spec);
    if (hidden.draws) sequence.place.stream = *hidden.draws;
    sequence.listener = std::move(hidden.listener);
    replica.worker->start(std::move(sequence));
  }
  ++num_steps_;
  ++in_flight_;
  replica.last_started = plan.step;
  replica.worker->run(make_step_batch(plan, cluster_->at(plan.replica).state(), *replica.blocks));
}

void LiveBackend::note_empty_plan(const StepPlan& plan) {
  PerReplica& replica = replicas_[raw(plan.replica)];
  if (!plan.swap_outs.empty()) replica.worker->swap_out(swap_outs_of(plan, *replica.blocks));
}

void LiveBackend::note_reset(ReplicaId id) {
  PerReplica& replica = replicas_[raw(id)];
  replica.discarded = replica.last_started;
  const RequestTable& requests = cluster_->requests();
  for (Slot slot = 0; slot < requests.capacity(); ++slot) {
    const RequestState& state = requests[slot];
    if (state.spec.id == kNoRequest || state.replica != id) continue;
    replica.worker->truncate(state.spec.id, state.outputs);
  }
}

void LiveBackend::plan_at(ReplicaId replica, Time when) {
  CHECK_INVARIANT(replicas_[raw(replica)].plan == kTimeNever, raw(replica), when);
  replicas_[raw(replica)].plan = when;
  if (options_.journal != nullptr) options_.journal->plan_asked(replica, when);
}

void LiveBackend::end_request(const RequestRecord& record) {
  hidden_.erase(record.id);
  if (record.replica != kNoReplica) replicas_[raw(record.replica)].worker->forget(record.id);
  source_.on_end(record);
  arrival_ = source_.next_arrival();
}

}  // namespace servetwin
