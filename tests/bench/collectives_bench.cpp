// Ranks call all-reduces one after the other; the figure is the best round's mean, so that of a quiet moment.
#include "tests/bench/collectives_bench.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "kernels/collectives/thread_group.h"

namespace servetwin {
namespace {

constexpr int kRounds = 10;
constexpr int kCalls = 500;  // a round

double best_microseconds(Communicator& rank, std::size_t bytes) {
  std::vector<float> values(bytes / sizeof(float), 1.0F);
  double best = 1e12;
  for (int round = 0; round < kRounds; ++round) {
    std::fill(values.begin(), values.end(), 1.0F);
    rank.barrier();
    const auto start = std::chrono::steady_clock::now();
    for (int call = 0; call < kCalls; ++call) rank.all_reduce(values);
    const std::chrono::duration<double, std::micro> spent = std::chrono::steady_clock::now() - start;
    best = std::min(best, spent.count() / kCalls);
  }
  return best;
}

}  // namespace

int collectives_bench(int count, char** words) {
  int ranks = 2;
  for (int i = 0; i < count; ++i) {
    if (std::strcmp(words[i], "--ranks") == 0 && i + 1 < count) {
      ranks = std::atoi(words[++i]);
    } else {
      std::fprintf(stderr, "unknown option %s\n", words[i]);
      return 2;
    }
  }
  for (const std::size_t bytes : {4UL, 1024UL, 16UL * 1024, 256UL * 1024, 4096UL * 1024}) {
    ThreadGroup group(ranks, std::chrono::minutes(1), "bench");
    double microseconds = 0;
    std::vector<std::thread> threads;
    for (int r = 0; r < ranks; ++r) {
      threads.emplace_back([&, r] {
        const auto rank = group.join(r);
        const double own = best_microseconds(*rank, bytes);
        if (r == 0) microseconds = own;
        rank->barrier();
      });
    }
    for (std::thread& thread : threads) thread.join();
    std::printf("all-reduce of %zu bytes between %d threads: %.1f us\n", bytes, ranks, microseconds);
  }
  return 0;
}

}  // namespace servetwin
