// Threads that share out the rows of an operation. Who computes a row never changes its result.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

namespace servetwin {

// Rounds are microseconds long, hundreds of them a step, so a thread that waits for the next one looks for a
// while before it sleeps. One that comes too late finds the round closed: nobody waits for a thread that the
// system has not let run.
class ThreadTeam {
 public:
  using Work = std::function<void(std::int64_t first, std::int64_t end)>;

  // The caller is one of the `size` threads. The others each keep to their core of `cpus`, whose first is the
  // caller's own business; empty: to none.
  explicit ThreadTeam(int size, const std::vector<int>& cpus = {});
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  // Of what the callers computed with it; a multiply-add counts as two.
  void count_flops(std::int64_t flops) { flops_ += flops; }
  std::int64_t flops() const { return flops_; }

  int size() const { return static_cast<int>(threads_.size()) + 1; }
  // Calls work(first, end) on ranges that cover [0, count) and begin at multiples of `grain`; returns when
  // all are done. One caller at a time; `work` does not throw.
  void for_ranges(std::int64_t count, const Work& work, std::int64_t grain = 1);

 private:
  void join(const std::vector<int>& cpus);
  void run();
  void take_ranges();

  std::int64_t flops_ = 0;  // the caller's alone

  std::vector<std::thread> threads_;
  const Work* work_ = nullptr;  // these three are constant while a round is open
  std::int64_t count_ = 0;
  std::int64_t range_ = 0;
  std::atomic<std::int64_t> next_{0};
  // How many threads are in the round, whether it is closed, and its number.
  std::atomic<std::uint32_t> gate_;
  std::atomic<bool> stopping_{false};
};

}  // namespace servetwin
