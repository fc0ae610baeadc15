// A round for each piece of work; the first failure is the one that is told.
#include "engine/live/rank_team.h"

#include <utility>

#include "engine/base/check.h"

namespace servetwin {

RankTeam::RankTeam(const ModelSpec& spec, std::span<const ModelWeights> parts, const RunnerOptions& options)
    : name_(options.name), deadline_(options.deadline) {
  const int size = static_cast<int>(parts.size());
  if (size > 1) group_ = std::make_unique<ThreadGroup>(size, deadline_, name_);
  for (int rank = 0; rank < size; ++rank) {
    const auto index = static_cast<std::size_t>(rank);
    ranks_.push_back(std::make_unique<RankModel>(spec, parts[index], options, RankPlace{rank, size},
                                                 group_ ? group_->join(rank) : nullptr));
  }
  for (std::size_t rank = 1; rank < ranks_.size(); ++rank)
    threads_.emplace_back([this, rank] { serve(rank); });
}

RankTeam::~RankTeam() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  called_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void RankTeam::serve(std::size_t rank) {
  ranks_[rank]->take_place();
  std::uint64_t done = 0;
  while (true) {
    {
      std::unique_lock lock(mutex_);
      called_.wait(lock, [&] { return stopping_ || round_ != done; });
      if (stopping_) return;
      done = round_;
    }
    attempt(rank);
    const std::lock_guard lock(mutex_);
    if (--away_ == 0) returned_.notify_one();
  }
}

void RankTeam::attempt(std::size_t rank) {
  std::string reason;
  try {
    return (*work_)(*ranks_[rank]);
  } catch (const std::exception& error) {
    reason = error.what();
  }
  const std::string text = name_ + ": rank " + std::to_string(rank) + " of " + std::to_string(ranks_.size()) +
                           " failed in " + what_ + ": " + reason;
  {
    const std::lock_guard lock(mutex_);
    if (failure_) return;  // only because another has
    failure_ = text;
  }
  if (group_) group_->abort(text);
}

void RankTeam::run(const std::string& what, const Work& work) {
  if (ranks_.size() == 1) return work(first());
  {
    const std::lock_guard lock(mutex_);
    if (failure_) throw RankError(*failure_);
    work_ = &work;
    what_ = what;
    away_ = size() - 1;
    ++round_;
  }
  called_.notify_all();
  attempt(0);
  std::unique_lock lock(mutex_);
  const bool all_back = returned_.wait_for(lock, 2 * deadline_, [this] { return away_ == 0; });
  CHECK_INVARIANT(all_back, name_, what, away_, failure_.value_or(""));
  if (failure_) throw RankError(*failure_);
}

}  // namespace servetwin
