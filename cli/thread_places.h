// The option --cpus: which cores compute, and which one the other threads share.
#pragma once

#include <string>
#include <vector>

#include "cli/arguments.h"

namespace servetwin {

class ThreadPlaces {
 public:
  void declare(Arguments& arguments);
  // Gives the compute threads the first cores of the list, one each, and keeps the calling thread, and those
  // it will make, on the rest, or on all where none is left. Throws UsageError for what is no list of cores
  // that may be used, or too short. Without the option nothing is pinned.
  void take(const char* verb, std::size_t compute_threads);

  // By replica and thread; empty where nothing is pinned.
  const std::vector<int>& compute() const { return compute_; }
  bool is_given() const { return !list_.empty(); }
  // What is pinned where, as a line; empty where nothing is.
  std::string text() const;

 private:
  std::string list_;
  std::vector<int> compute_;
  std::vector<int> others_;
};

}  // namespace servetwin
