// Linux' calls.
#include "kernels/thread_place.h"

#include <pthread.h>
#include <sched.h>
#include <utility>

#include "engine/base/check.h"

namespace servetwin {

void name_this_thread(const char* name) {
  const int failed = ::pthread_setname_np(::pthread_self(), name);
  CHECK_INVARIANT(failed == 0, name);
}

std::thread named_thread(const char* name, std::function<void()> work) {
  return std::thread([name, work = std::move(work)] {
    name_this_thread(name);
    work();
  });
}

std::vector<int> cpus_of_this_thread() {
  cpu_set_t set;
  const int failed = ::sched_getaffinity(0, sizeof set, &set);
  CHECK_INVARIANT(failed == 0, failed);
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(static_cast<std::size_t>(cpu), &set)) cpus.push_back(cpu);
  }
  return cpus;
}

void keep_this_thread_on(const std::vector<int>& cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) CPU_SET(static_cast<std::size_t>(cpu), &set);
  const int failed = ::sched_setaffinity(0, sizeof set, &set);
  CHECK_INVARIANT(failed == 0, cpus.size());
}

}  // namespace servetwin
