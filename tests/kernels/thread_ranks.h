// Runs one function on every rank of a group of threads.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "kernels/collectives/thread_group.h"

namespace servetwin {

// Long enough for any machine; a test that waits for it has failed.
inline constexpr std::chrono::milliseconds kPatience = std::chrono::minutes(2);

// What each rank's CollectiveError says; empty for those that had none. Each leaves the group at its end.
inline std::vector<std::string> run_ranks(ThreadGroup& group,
                                          const std::function<void(Communicator&)>& work) {
  std::vector<std::string> errors(static_cast<std::size_t>(group.size()));
  std::vector<std::thread> threads;
  std::vector<std::unique_ptr<Communicator>> ranks;
  for (int r = 0; r < group.size(); ++r) ranks.push_back(group.join(r));
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    threads.emplace_back([&, r] {
      try {
        work(*ranks[r]);
      } catch (const CollectiveError& error) {
        errors[r] = error.what();
      }
      ranks[r].reset();
    });
  }
  for (std::thread& thread : threads) thread.join();
  return errors;
}

inline std::vector<std::string> run_ranks(int size, const std::function<void(Communicator&)>& work) {
  ThreadGroup group(size, kPatience, "world");
  return run_ranks(group, work);
}

}  // namespace servetwin
