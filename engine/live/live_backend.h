// The live world: arrivals on the monotonic clock, steps on real models, one thread that owns the core.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "engine/journal/journal_writer.h"
#include "engine/live/inbox.h"
#include "engine/live/replica_worker.h"
#include "engine/serving/cluster.h"
#include "engine/workload/source.h"

namespace servetwin {

// A request from outside the workload, with text of its own. Its id must not be that of another request.
struct Submission {
  RequestSpec spec;  // its arrival is when the client sent it, by now() of the backend
  std::vector<TokenId> prompt;
  SamplingParams sampling;
  OutputListener listener{};  // of its outputs; may be empty
  // Names its draws: where it is equal, equal prompts and seeds get equal answers. Without: by its id.
  std::optional<std::uint64_t> draws{};
};

struct LiveOptions {
  SamplingParams sampling;              // of the workload's requests; their lengths are those of the workload
  bool accepts_clients = false;         // goes on until close(), also when there is nothing to do
  std::size_t max_inbox = 4096;         // submissions and events that wait to be looked at
  JournalWriter* journal = nullptr;     // flushed once a second, told of plans asked for and of submissions
  const volatile bool* stop = nullptr;  // becomes true when the run shall end early
  std::function<void(const StepResult&)> on_result{};  // of every step, before its StepDone; may be empty
};

// next(), start_step() and the other commands belong to the thread that serves; post() and close() may be
// called from any. Stamps are times of delivery: each is later than the one before, or equal and then after
// it in the order of events.
class LiveBackend final : public Backend {
 public:
  // One runner per replica. Source and text must outlive the backend.
  LiveBackend(RequestSource& source,
              std::vector<std::unique_ptr<ModelRunner>> runners,
              ContentText& text,
              const LiveOptions& options);
  ~LiveBackend() override;
  LiveBackend(const LiveBackend&) = delete;
  LiveBackend& operator=(const LiveBackend&) = delete;

  // The core it serves, whose replicas must run the plain loop. Time begins here.
  void attach(Cluster& cluster);

  // False when the inbox is full or closed.
  bool post(Submission submission) { return inbox_.try_push(std::move(submission)); }
  bool post(const Event& event) { return inbox_.try_push(event); }
  // `answer` is called on the thread that serves, with the time of the last event before it.
  bool ask(std::function<void(Time)> answer) { return inbox_.try_push(std::move(answer)); }
  // As many as there are requests at most. Of one that ended or never was: no error.
  void cancel(RequestId request) { inbox_.push_always(Event{Cancelled{request, EndReason::kClient}}); }
  // Ends when what is under way has ended; or at once.
  void close() { inbox_.close(); }
  void stop() {
    stopped_ = true;
    close();
  }
  // Since attach().
  Time now() const;

  // Throws what a replica's runner threw.
  bool next(StampedEvent& out) override;
  void start_step(const StepPlan& plan) override;
  void note_empty_plan(const StepPlan& plan) override;
  void note_reset(ReplicaId replica) override;
  void plan_at(ReplicaId replica, Time when) override;
  void end_request(const RequestRecord& record) override;

  std::uint64_t num_steps() const { return num_steps_; }
  bool interrupted() const { return interrupted_; }
  // Of all replicas, when no step is under way.
  FlopCount flops() const;
  CollectiveCheck collectives() const;  // of one rank of each replica

 private:
  using Question = std::function<void(Time)>;
  using Message = std::variant<Submission, Event, StepResult, Question>;

  // What the core does not know of a request: kept from its arrival to its end.
  struct Hidden {
    std::int64_t output = kNoStop;  // stops by itself after so many tokens
    std::vector<TokenId> prompt;    // empty: the workload's synthetic text
    SamplingParams sampling;
    OutputListener listener{};
    std::optional<std::uint64_t> draws{};
  };
  struct PerReplica {
    std::unique_ptr<BlockTables> blocks;
    std::unique_ptr<ReplicaWorker> worker;
    Time plan = kTimeNever;  // asked for
    StepId last_started{0};
    StepId discarded{0};  // results up to this step count no more
  };
  struct Timer {
    Time due;
    Cancelled event;
  };

  void look();
  void take_workload(Time until);
  void arrive_from_source();
  void add_timers(const WorkloadItem& item);
  void accept(Message& message, std::deque<Event>& results);
  bool still_due(const Event& event) const;
  bool take_plan(StampedEvent& out);
  bool finished();
  void wait();
  void flush_journal();
  StampedEvent stamped(Time time, const Event& event);

  RequestSource& source_;
  ContentText& text_;
  LiveOptions options_;
  std::vector<std::unique_ptr<ModelRunner>> runners_;  // until attach()
  Cluster* cluster_ = nullptr;
  std::chrono::steady_clock::time_point start_{};
  std::map<RequestId, Hidden> hidden_;
  std::vector<Timer> timers_;  // a heap, earliest first
  std::deque<Event> ready_;    // of the last look, not yet delivered
  Time looked_at_ = kTimeZero;
  bool may_plan_ = false;  // a plan may be delivered before the next look
  StampedEvent last_{time_at_ns(-1), PlanDue{ReplicaId{0}}, 0};
  Time arrival_ = kTimeNever;  // of the source's next item
  WorkloadItem item_;
  Time flushed_ = kTimeZero;
  std::int64_t in_flight_ = 0;  // steps of all replicas
  std::uint64_t num_steps_ = 0;
  bool interrupted_ = false;
  std::atomic<bool> stopped_{false};
  Inbox<Message> inbox_;
  std::vector<Message> messages_;
  std::vector<PerReplica> replicas_;  // last: their threads push into the inbox
};

}  // namespace servetwin
