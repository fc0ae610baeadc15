// The thread that runs one replica's steps, in the order in which they were planned.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <variant>
#include <vector>

#include "engine/base/time.h"
#include "engine/live/model_runner.h"

namespace servetwin {

struct StepResult {
  ReplicaId replica{0};
  StepId step{0};
  std::vector<RequestId> stopped;  // ended with this step, in order of id
  Duration computed{};             // what the runner took for it
  std::exception_ptr failure{};  // set: the runner threw this, the rest means nothing, and no result follows
};

class ReplicaWorker {
 public:
  // `done` is called on the worker's thread after each step, and once more when the runner fails.
  ReplicaWorker(ReplicaId replica, std::unique_ptr<ModelRunner> runner, std::function<void(StepResult)> done);
  // Finishes the step it is in and drops the rest.
  ~ReplicaWorker();
  ReplicaWorker(const ReplicaWorker&) = delete;
  ReplicaWorker& operator=(const ReplicaWorker&) = delete;

  // Carried out in the order of the calls. What waits is bounded by the steps in flight and by the requests
  // that come and go with them.
  void start(SequenceStart sequence) { push(std::move(sequence)); }
  void run(StepBatch batch) { push(std::move(batch)); }
  void swap_out(std::vector<BlockCopy> copies) { push(std::move(copies)); }
  void truncate(RequestId request, std::int64_t outputs) { push(Truncate{request, outputs}); }
  void forget(RequestId request) { push(Forget{request}); }
  // Of all steps that have come back; only when none is under way.
  FlopCount flops() const { return runner_->flops(); }
  CollectiveCheck collectives() const { return runner_->collectives(); }

 private:
  struct Truncate {
    RequestId request;
    std::int64_t outputs;
  };
  struct Forget {
    RequestId request;
  };
  using Command = std::variant<SequenceStart, StepBatch, std::vector<BlockCopy>, Truncate, Forget>;
  struct Handler;

  void push(Command command);
  void work();

  ReplicaId replica_;
  std::unique_ptr<ModelRunner> runner_;
  std::function<void(StepResult)> done_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Command> commands_;
  bool stopping_ = false;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace servetwin
