// A round is a number and a gate: threads come in while it is open and take ranges until none is left; the
// caller then closes it and waits for those inside.
#include "kernels/thread_team.h"

#include <algorithm>

#include "engine/base/check.h"
#include "kernels/thread_place.h"

namespace servetwin {
namespace {

constexpr std::uint32_t kInside = (1U << 12U) - 1;  // bits that count threads
constexpr std::uint32_t kClosed = 1U << 12U;
constexpr std::uint32_t kRound = 1U << 13U;
constexpr int kLooks = 4000;  // some tens of microseconds
constexpr std::int64_t kRangesPerThread = 4;

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

ThreadTeam::ThreadTeam(int size, const std::vector<int>& cpus) : gate_(kClosed) {
  CHECK_INVARIANT(size >= 1 && size <= static_cast<int>(kInside), size);
  CHECK_INVARIANT(cpus.empty() || cpus.size() == static_cast<std::size_t>(size), size, cpus.size());
  for (std::size_t member = 1; member < static_cast<std::size_t>(size); ++member) {
    std::vector<int> own;
    if (!cpus.empty()) own.push_back(cpus[member]);
    threads_.emplace_back([this, own] { join(own); });
  }
}

void ThreadTeam::join(const std::vector<int>& cpus) {
  name_this_thread("compute");
  if (!cpus.empty()) keep_this_thread_on(cpus);
  run();
}

ThreadTeam::~ThreadTeam() {
  stopping_ = true;
  gate_ += kRound;
  gate_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ThreadTeam::take_ranges() {
  while (true) {
    const std::int64_t first = next_.fetch_add(range_, std::memory_order_relaxed);
    if (first >= count_) return;
    (*work_)(first, std::min(count_, first + range_));
  }
}

void ThreadTeam::run() {
  int looks = 0;
  std::uint32_t done = 0;  // the round of which nothing is left for this thread
  while (true) {
    std::uint32_t gate = gate_.load(std::memory_order_acquire);
    if (stopping_) return;
    if ((gate & kClosed) == 0 && gate / kRound != done) {
      if (!gate_.compare_exchange_weak(gate, gate + 1, std::memory_order_acquire)) continue;
      take_ranges();
      done = gate / kRound;
      gate_.fetch_sub(1, std::memory_order_release);
      looks = 0;
    } else if (++looks < kLooks) {
      pause();
    } else {
      gate_.wait(gate, std::memory_order_acquire);
      looks = 0;
    }
  }
}

void ThreadTeam::for_ranges(std::int64_t count, const Work& work, std::int64_t grain) {
  if (threads_.empty() || count <= grain) {
    if (count > 0) work(0, count);
    return;
  }
  const std::int64_t share = count / (size() * kRangesPerThread);
  work_ = &work;
  count_ = count;
  range_ = std::max<std::int64_t>(1, (share + grain - 1) / grain) * grain;
  next_.store(0, std::memory_order_relaxed);
  const std::uint32_t open = (gate_.load(std::memory_order_relaxed) & ~(kClosed | kInside)) + kRound;
  gate_.store(open, std::memory_order_release);
  gate_.notify_all();
  take_ranges();
  gate_.fetch_or(kClosed, std::memory_order_acq_rel);
  for (int looks = 0; (gate_.load(std::memory_order_acquire) & kInside) != 0; ++looks) {
    if (looks < kLooks) {
      pause();
    } else {
      std::this_thread::yield();
    }
  }
}

}  // namespace servetwin
