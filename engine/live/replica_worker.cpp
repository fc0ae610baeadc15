// A queue and a loop.
#include "engine/live/replica_worker.h"

#include <chrono>
#include <utility>

#include "engine/base/error.h"

namespace servetwin {

ReplicaWorker::ReplicaWorker(ReplicaId replica,
                             std::unique_ptr<ModelRunner> runner,
                             std::function<void(StepResult)> done)
    : replica_(replica), runner_(std::move(runner)), done_(std::move(done)), thread_([this] { work(); }) {}

ReplicaWorker::~ReplicaWorker() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void ReplicaWorker::push(Command command) {
  {
    const std::lock_guard lock(mutex_);
    commands_.push_back(std::move(command));
  }
  changed_.notify_one();
}

struct ReplicaWorker::Handler {
  ReplicaWorker& worker;

  void operator()(SequenceStart& sequence) const { worker.runner_->start(std::move(sequence)); }
  void operator()(const StepBatch& batch) const {
    const auto start = std::chrono::steady_clock::now();
    std::vector<RequestId> stopped = worker.runner_->run(batch);
    const auto taken = std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now() - start);
    worker.done_({worker.replica_, batch.step, std::move(stopped), taken, nullptr});
  }
  void operator()(const std::vector<BlockCopy>& copies) const { worker.runner_->swap_out(copies); }
  void operator()(const Truncate& cut) const { worker.runner_->truncate(cut.request, cut.outputs); }
  void operator()(const Forget& gone) const { worker.runner_->forget(gone.request); }
};

void ReplicaWorker::work() {
  runner_->take_place();
  while (true) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return stopping_ || !commands_.empty(); });
    if (stopping_) return;
    Command command = std::move(commands_.front());
    commands_.pop_front();
    lock.unlock();
    try {
      std::visit(Handler{*this}, command);
    } catch (const ExecutionError&) {
      done_({replica_, StepId{0}, {}, {}, std::current_exception()});
      return;
    }
  }
}

}  // namespace servetwin
