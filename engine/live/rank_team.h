// The ranks of one replica, each a thread: they do the same at the same time, each with its part of the
// model.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "engine/base/error.h"
#include "engine/live/rank_model.h"
#include "kernels/collectives/thread_group.h"

namespace servetwin {

// A rank did not do its part. The text names the replica, the rank, what it was doing and why it failed.
class RankError : public ExecutionError {
 public:
  using ExecutionError::ExecutionError;
};

class RankTeam {
 public:
  using Work = std::function<void(RankModel&)>;

  // A rank for each of `parts`, which are those of SplitWeights and must outlive the team. One rank alone
  // is the caller, and no thread is made.
  RankTeam(const ModelSpec& spec, std::span<const ModelWeights> parts, const RunnerOptions& options);
  ~RankTeam();
  RankTeam(const RankTeam&) = delete;
  RankTeam& operator=(const RankTeam&) = delete;

  int size() const { return static_cast<int>(ranks_.size()); }
  // Rank 0 is the caller of run().
  RankModel& first() { return *ranks_.front(); }
  const RankModel& at(int rank) const { return *ranks_[static_cast<std::size_t>(rank)]; }

  // Every rank does it; returns when all have. When one throws, the others' collectives end, and RankError
  // says which it was; `what` names the work, for example "step 12". A team that failed stays so. A rank that
  // is not back by twice the deadline after the first breaks an invariant: a thread cannot be stopped.
  void run(const std::string& what, const Work& work);

 private:
  void serve(std::size_t rank);
  void attempt(std::size_t rank);

  std::string name_;
  std::chrono::milliseconds deadline_;
  std::unique_ptr<ThreadGroup> group_;  // null for one rank
  std::vector<std::unique_ptr<RankModel>> ranks_;
  std::mutex mutex_;
  std::condition_variable called_;
  std::condition_variable returned_;
  const Work* work_ = nullptr;  // constant while a round is under way, as `what_` is
  std::string what_;
  std::uint64_t round_ = 0;
  int away_ = 0;  // ranks that have not done this round
  std::optional<std::string> failure_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;  // of the ranks after the first
};

}  // namespace servetwin
