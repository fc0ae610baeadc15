// Waits until the earliest event is due, or until somebody outside has something to say.
#include "scenarios/paced_backend.h"

#include <algorithm>

#include "engine/base/check.h"

namespace servetwin {
namespace {

constexpr double kLongestWaitNs = 50e6;  // stop() is seen after that

}  // namespace

void ClientSource::take(WorkloadItem& item) {
  item = std::move(items_.front());
  items_.pop_front();
}

PacedBackend::PacedBackend(std::vector<const CostModel*> costs,
                           const SimOptions& simulation,
                           const PacedOptions& options,
                           PacedListener& listener)
    : inner_(source_, std::move(costs), simulation),
      speed_(options.speed),
      listener_(listener),
      journal_(options.journal),
      inbox_(options.max_inbox) {
  CHECK_INVARIANT(!simulation.shortcut);
}

void PacedBackend::attach(Cluster& cluster) {
  cluster_ = &cluster;
  sampled_.resize(cluster.num_replicas());
  inner_.attach(cluster);
  start_ = std::chrono::steady_clock::now();
}

void PacedBackend::stop() {
  stopped_ = true;
  close();
}

Time PacedBackend::now() const {
  const std::chrono::nanoseconds passed = std::chrono::steady_clock::now() - start_;
  return Time{duration_from_ns(static_cast<double>(passed.count()) * speed_)};
}

bool PacedBackend::next(StampedEvent& out) {
  tell_outputs();
  while (!stopped_) {
    const bool closed = inbox_.closed();
    const Time time = now();
    take_messages(time);
    const Time due = inner_.next_time();
    if (due <= time) {
      const bool happens = inner_.next(out);
      CHECK_INVARIANT(happens && out.time == due, out.time, due);
      last_ = out;
      return true;
    }
    if (due == kTimeNever && closed) return false;
    wait_for(due);
  }
  return false;
}

// A client that left before its request was looked at leaves just after it arrived.
void PacedBackend::take_messages(Time now) {
  messages_.clear();
  inbox_.take_all(messages_);
  for (Message& message : messages_) {
    if (auto* item = std::get_if<WorkloadItem>(&message)) {
      item->spec.arrival = now;
      if (journal_ != nullptr) journal_->add_request(item->spec);
      source_.add(std::move(*item));
    } else if (const auto* cancelled = std::get_if<Cancelled>(&message)) {
      inner_.add_event({now + Duration{1}, *cancelled, 0});
    } else {
      listener_.on_question(std::get<Question>(message).ticket, last_.time);
    }
  }
  inner_.look_at_source();
}

void PacedBackend::wait_for(Time due) {
  const auto present = std::chrono::steady_clock::now();
  // In floating point: what is due far ahead may lie past the last instant of the clock.
  const double passed = std::chrono::duration<double, std::nano>(present - start_).count();
  const double left = static_cast<double>(to_ns(due)) / speed_ - passed;
  inbox_.wait_until(present + duration_from_ns(std::clamp(left, 0.0, kLongestWaitNs)));
}

void PacedBackend::start_step(const StepPlan& plan) {
  CHECK_INVARIANT(plan.all_rows, raw(plan.step));
  Sampled sampled{plan.step, {}};
  for (const StepRow& row : plan.rows) {
    if (row.sampled) sampled.requests.push_back(row.request);
  }
  sampled_[raw(plan.replica)].push_back(std::move(sampled));
  inner_.start_step(plan);
}

// After a step the core knows how many outputs each of its requests has.
void PacedBackend::tell_outputs() {
  const auto* done = std::get_if<StepDone>(&last_.event);
  if (done == nullptr) return;
  std::deque<Sampled>& steps = sampled_[raw(done->replica)];
  const RequestTable& requests = cluster_->requests();
  while (!steps.empty() && steps.front().step <= done->step) {
    for (const RequestId request : steps.front().requests) {
      const Slot slot = requests.find(request);
      if (slot != kNoSlot) listener_.on_outputs(request, requests[slot].outputs);
    }
    steps.pop_front();
  }
}

void PacedBackend::end_request(const RequestRecord& record) {
  inner_.end_request(record);
  listener_.on_end(record);
}

}  // namespace servetwin
