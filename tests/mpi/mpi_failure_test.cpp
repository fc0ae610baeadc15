// If these fail, processes wait for ever for one that is late, gone or elsewhere, or are not told why.
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "tests/mpi/mpi_world.h"
#include "tests/support/catch.h"

namespace servetwin::test::mpi_failure_test {
namespace {

using Work = std::function<void(Communicator&)>;

bool says(const std::string& error, const std::string& part) { return error.find(part) != std::string::npos; }

// What the call throws; empty if nothing.
std::string error_of(Communicator& group, const Work& work) {
  try {
    work(group);
  } catch (const CollectiveError& error) {
    return error.what();
  }
  return {};
}

// Ranks 0 and 1 do what is given, ranks above what rank 0 does.
void check_mismatch(const Work& first, const Work& second, const std::string& one, const std::string& other) {
  const auto group = mpi_group();
  const std::string error = error_of(*group, group->rank() == 1 ? second : first);
  INFO(error);
  CHECK(says(error, "group world/0, rank " + std::to_string(group->rank()) + " of "));
  CHECK(says(error, " calls " + one));
  CHECK(says(error, "rank 1 calls " + other));
  CHECK(says(error, " where rank "));
  CHECK(says(error_of(*group, [](Communicator& g) { g.barrier(); }), "rank 1 calls " + other));
  mpi_world().barrier();
}

TEST_CASE("processes that call different operations, sizes or roots all fail, and both calls are named") {
  std::vector<float> four(4);
  std::vector<float> three(3);
  const auto bytes = std::as_writable_bytes(std::span(four));
  const Work reduce = [&](Communicator& g) { g.all_reduce(four); };
  check_mismatch(
      reduce, [](Communicator& g) { g.barrier(); }, "all-reduce 1 of 16 bytes", "barrier 1");
  check_mismatch(
      reduce, [&](Communicator& g) { g.all_reduce(three); }, "all-reduce 1 of 16 bytes",
      "all-reduce 1 of 12 bytes");
  check_mismatch(
      reduce, [&](Communicator& g) { g.send(bytes, 0); }, "all-reduce 1 of 16 bytes",
      "send 1 of 16 bytes to rank 0");
  check_mismatch([&](Communicator& g) { g.broadcast(bytes, 0); },
                 [&](Communicator& g) { g.broadcast(bytes, 1); }, "broadcast 1 of 16 bytes from root 0",
                 "broadcast 1 of 16 bytes from root 1");
  check_mismatch([](Communicator& g) { g.split(1); }, [](Communicator& g) { g.barrier(); }, "split 1",
                 "barrier 1");
}

TEST_CASE("processes whose sizes of an all-to-all do not fit all fail, and the pair is named") {
  const auto group = mpi_group();
  const std::size_t n = static_cast<std::size_t>(group->size());
  std::vector<std::byte> given(8 * n);
  std::vector<std::size_t> give(n, 8);
  std::vector<std::size_t> take(n, 8);
  if (group->rank() == 1) take[0] = 4;
  std::vector<std::byte> taken(group->rank() == 1 ? 8 * n - 4 : 8 * n);
  const std::string error =
      error_of(*group, [&](Communicator& g) { g.all_to_all(given, give, taken, take); });
  INFO(error);
  CHECK(says(error, "rank 0 calls all-to-all 1 of 8 bytes given and 8 taken"));
  CHECK(says(error, "rank 1 calls all-to-all 1 of 8 bytes given and 4 taken"));
  mpi_world().barrier();
}

TEST_CASE("an abort ends a process that waits in a call, from any thread, and those that come later") {
  const auto group = mpi_group();
  const Work barrier = [](Communicator& g) { g.barrier(); };
  std::string error;
  if (group->rank() == 0) {
    std::thread thread([&] { group->abort("the model is gone"); });
    error = error_of(*group, barrier);
    thread.join();
    mpi_world().barrier();
  } else {
    mpi_world().barrier();
    error = error_of(*group, barrier);
  }
  CHECK(says(error, ", barrier 1: the model is gone"));
  group->abort("another reason");
  CHECK(says(error_of(*group, barrier), ", barrier 2: the model is gone"));
  mpi_world().barrier();
}

TEST_CASE("a process group split off fails with the one it came from, not the other way round") {
  const auto group = mpi_group();
  const auto part = group->split(4);
  const auto other = group->split(4);
  if (group->rank() == 1) other->abort("alone");
  CHECK(says(error_of(*other, [](Communicator& g) { g.barrier(); }), ": alone"));
  group->barrier();
  part->barrier();
  mpi_world().barrier();  // by now nobody is in the one before
  if (group->rank() == 0) group->abort("all of it");
  const std::string error = error_of(*part, [](Communicator& g) {
    if (g.rank() == 0) return g.barrier();
    g.receive({}, 0);
  });
  CHECK(says(error, "group world/0/4, "));
  CHECK(says(error, "group world/0 has failed: all of it"));
  mpi_world().barrier();
}

TEST_CASE("a process that splits two groups at once fails the second") {
  const auto first = mpi_group();
  const auto second = mpi_group();
  const Work split = [](Communicator& g) { g.split(0); };
  std::string error;
  if (first->rank() == 0) {
    std::string ended;
    // Nobody else comes to either, so who was first waits until the second has been refused.
    std::thread thread([&] {
      ended = error_of(*first, split);
      second->abort("enough");
    });
    error = error_of(*second, split);
    first->abort("enough");
    thread.join();
    CHECK(says(ended + error, "another thread of this process splits a group at this moment"));
    mpi_world().barrier();
  } else {
    mpi_world().barrier();
  }
}

TEST_CASE("a wrong call of one process fails the group") {
  const auto group = mpi_group();
  const std::string error = error_of(*group, [](Communicator& g) {
    std::vector<std::byte> one(1);
    if (g.rank() == 0) return g.all_gather(one, one);
    g.barrier();
  });
  CHECK(says(error, "1 bytes for all pieces, which needs " + std::to_string(group->size())));
  mpi_world().barrier();
}

// These run in programs of their own: see run.sh.
TEST_CASE("when a process is killed the others end within the deadline, naming it and the operation",
          "[.][killed]") {
  MpiCommunicator& world = mpi_world(std::chrono::seconds(5));
  std::vector<float> values(100'000);
  world.all_reduce(values);
  if (world.rank() == 1) std::raise(SIGKILL);
  leave_without_the_lost();
  const std::string error = error_of(world, [&](Communicator& g) { g.all_reduce(values); });
  INFO(error);
  CHECK(says(error,
             "group world, rank " + std::to_string(world.rank()) + " of 3, all-reduce 2 of 400000 bytes: "));
  CHECK(says(error, " waited 5000 ms for rank 1"));
}

TEST_CASE("a process that comes too late finds that the others have missed it", "[.][late]") {
  MpiCommunicator& world = mpi_world(std::chrono::seconds(5));
  world.barrier();
  const std::filesystem::path gave_up = std::string(std::getenv("LOGS")) + "/gave_up";
  while (world.rank() == 1 && !std::filesystem::exists(gave_up)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  const std::string error = error_of(world, [](Communicator& g) { g.barrier(); });
  std::ofstream(gave_up) << error;
  INFO(error);
  CHECK(says(error, "group world, rank " + std::to_string(world.rank()) + " of 3, barrier 2: "));
  CHECK(says(error, " waited 5000 ms for rank 1"));
}

}  // namespace
}  // namespace servetwin::test::mpi_failure_test
