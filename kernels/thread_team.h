// Threads that share out the rows of an operation. Who computes a row never changes its result.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace servetwin {

class ThreadTeam {
 public:
  // The caller is one of the `size` threads.
  explicit ThreadTeam(int size);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  int size() const { return static_cast<int>(threads_.size()) + 1; }
  // Calls work(first, end) on adjacent ranges that cover [0, count) and returns when all are done. One caller
  // at a time; `work` does not throw.
  void for_ranges(std::int64_t count, const std::function<void(std::int64_t, std::int64_t)>& work);

 private:
  void run(int member);
  void work_on_part(int member) const;

  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable started_;
  std::condition_variable finished_;
  const std::function<void(std::int64_t, std::int64_t)>* work_ = nullptr;
  std::int64_t count_ = 0;
  std::uint64_t round_ = 0;  // a new value tells the threads to start
  int busy_ = 0;
  bool stopping_ = false;
};

}  // namespace servetwin
