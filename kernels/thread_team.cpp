// One round at a time: the members wake, each does its range, the caller waits for the last.
#include "kernels/thread_team.h"

#include "engine/base/check.h"

namespace servetwin {

ThreadTeam::ThreadTeam(int size) {
  CHECK_INVARIANT(size >= 1, size);
  for (int member = 1; member < size; ++member) threads_.emplace_back([this, member] { run(member); });
}

ThreadTeam::~ThreadTeam() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  started_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ThreadTeam::work_on_part(int member) const {
  const std::int64_t first = count_ * member / size();
  const std::int64_t end = count_ * (member + 1) / size();
  if (first < end) (*work_)(first, end);
}

void ThreadTeam::run(int member) {
  std::uint64_t seen = 0;
  while (true) {
    {
      std::unique_lock lock(mutex_);
      started_.wait(lock, [&] { return stopping_ || round_ != seen; });
      if (stopping_) return;
      seen = round_;
    }
    work_on_part(member);
    const std::lock_guard lock(mutex_);
    if (--busy_ == 0) finished_.notify_one();
  }
}

void ThreadTeam::for_ranges(std::int64_t count, const std::function<void(std::int64_t, std::int64_t)>& work) {
  if (threads_.empty() || count < 2) {
    if (count > 0) work(0, count);
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    work_ = &work;
    count_ = count;
    busy_ = static_cast<int>(threads_.size());
    ++round_;
  }
  started_.notify_all();
  work_on_part(0);
  std::unique_lock lock(mutex_);
  finished_.wait(lock, [this] { return busy_ == 0; });
}

}  // namespace servetwin
