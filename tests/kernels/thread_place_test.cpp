// If these fail, threads that were given cores of their own run elsewhere and disturb each other.
#include "kernels/thread_place.h"

#include <mutex>
#include <pthread.h>
#include <set>
#include <string>
#include <thread>

#include "kernels/thread_team.h"
#include "tests/support/catch.h"

namespace servetwin::test::thread_place_test {
namespace {

using Cores = std::vector<int>;

TEST_CASE("a thread stays on the cores it was given, and so do the threads it makes") {
  const Cores all = cpus_of_this_thread();
  REQUIRE(!all.empty());
  Cores own;
  Cores inherited;
  std::thread([&] {
    keep_this_thread_on({all.back()});
    own = cpus_of_this_thread();
    std::thread([&] { inherited = cpus_of_this_thread(); }).join();
  }).join();
  CHECK(own == Cores{all.back()});
  CHECK(inherited == own);
  CHECK(cpus_of_this_thread() == all);
}

TEST_CASE("a thread that is made with a name has it") {
  std::string name(16, ' ');
  named_thread("fifteen letters", [&] {
    REQUIRE(::pthread_getname_np(::pthread_self(), name.data(), name.size()) == 0);
  }).join();
  CHECK(std::string(name.c_str()) == "fifteen letters");
}

// The affinities under which a team's threads were seen to work; the calling thread's among them.
std::set<Cores> places_of(ThreadTeam& team, std::size_t expected) {
  std::set<Cores> places;
  std::mutex mutex;
  for (int round = 0; round < 100'000 && places.size() < expected; ++round) {
    team.for_ranges(64, [&](std::int64_t, std::int64_t) {
      const std::lock_guard lock(mutex);
      places.insert(cpus_of_this_thread());
    });
  }
  return places;
}

TEST_CASE("the threads of a team keep to one core each") {
  const Cores all = cpus_of_this_thread();
  if (all.size() < 2) {
    WARN("skipped: needs two cores");
    return;
  }
  // The caller, unpinned, and one of the team on the last core.
  ThreadTeam team(2, {all.front(), all.back()});
  CHECK(places_of(team, 2) == std::set<Cores>{all, {all.back()}});
  ThreadTeam free(2);
  CHECK(places_of(free, 1) == std::set<Cores>{all});
}

}  // namespace
}  // namespace servetwin::test::thread_place_test
