// The simulated world by the wall clock: what will happen is computed ahead and told when its time has come.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <deque>
#include <utility>
#include <variant>
#include <vector>

#include "engine/journal/journal_writer.h"
#include "engine/live/inbox.h"
#include "sim/backend/sim_backend.h"

namespace servetwin {

// Clients' requests in the order in which they were sent.
class ClientSource final : public RequestSource {
 public:
  void add(WorkloadItem item) { items_.push_back(std::move(item)); }
  Time next_arrival() override { return items_.empty() ? kTimeNever : items_.front().spec.arrival; }
  void take(WorkloadItem& item) override;
  bool reacts_to_ends() const override { return false; }
  std::string describe() const override { return "clients"; }
  SourceFacts facts() const override { return {}; }

 private:
  std::deque<WorkloadItem> items_;
};

// Told on the thread that serves.
class PacedListener {
 public:
  virtual ~PacedListener() = default;
  // The request has produced so many tokens; before its end each number is told or passed over.
  virtual void on_outputs(RequestId request, std::int64_t outputs) = 0;
  virtual void on_end(const RequestRecord& record) = 0;
  // Somebody wants to know the state of things. Every event up to `now`, and none after it, was told.
  virtual void on_question(RequestId ticket, Time now) = 0;
};

struct PacedOptions {
  double speed = 1;  // seconds of the simulation in a second of the wall clock
  std::size_t max_inbox = 4096;
  JournalWriter* journal = nullptr;  // told of requests
};

// next() and the commands belong to the thread that serves, the other calls to any. Stamps are simulated
// times: a step takes what its cost model says, however late the thread is.
class PacedBackend final : public Backend {
 public:
  PacedBackend(std::vector<const CostModel*> costs,
               const SimOptions& simulation,
               const PacedOptions& options,
               PacedListener& listener);

  // The core it serves, whose replicas must run the plain loop. Time begins here.
  void attach(Cluster& cluster);

  // Arrives when it is looked at; false when too much waits or after close().
  bool submit(WorkloadItem item) { return inbox_.try_push(std::move(item)); }
  bool ask(RequestId ticket) { return inbox_.try_push(Question{ticket}); }
  // As many as there are requests at most.
  void cancel(RequestId request) { inbox_.push_always(Cancelled{request, EndReason::kClient}); }
  // Ends when what is under way has ended; or at once.
  void close() { inbox_.close(); }
  void stop();

  bool next(StampedEvent& out) override;
  void start_step(const StepPlan& plan) override;
  void note_empty_plan(const StepPlan& plan) override { inner_.note_empty_plan(plan); }
  void note_reset(ReplicaId replica) override { inner_.note_reset(replica); }
  void plan_at(ReplicaId replica, Time when) override { inner_.plan_at(replica, when); }
  void end_request(const RequestRecord& record) override;

 private:
  struct Question {
    RequestId ticket;
  };
  using Message = std::variant<WorkloadItem, Cancelled, Question>;
  // Who gets a token from a step that has not come back.
  struct Sampled {
    StepId step{0};
    std::vector<RequestId> requests;
  };

  Time now() const;
  void take_messages(Time now);
  void tell_outputs();
  void wait_for(Time due);

  ClientSource source_;
  SimBackend inner_;
  double speed_;
  PacedListener& listener_;
  JournalWriter* journal_;  // or null
  Cluster* cluster_ = nullptr;
  std::chrono::steady_clock::time_point start_{};
  std::vector<std::deque<Sampled>> sampled_;  // by replica
  StampedEvent last_{kTimeZero, PlanDue{ReplicaId{0}}, 0};
  Inbox<Message> inbox_;
  std::vector<Message> messages_;
  std::atomic<bool> stopped_{false};
};

}  // namespace servetwin
