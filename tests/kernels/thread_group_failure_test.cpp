// If these fail, a rank that is late, gone or elsewhere leaves the others waiting, or they are not told why.
#include <atomic>
#include <functional>

#include "kernels/collectives/thread_group.h"
#include "tests/kernels/thread_ranks.h"
#include "tests/support/catch.h"
#include "tests/support/check_throws.h"

namespace servetwin::test::thread_group_failure_test {
namespace {

using Errors = std::vector<std::string>;
using Work = std::function<void(Communicator&)>;

bool says(const std::string& error, const std::string& part) { return error.find(part) != std::string::npos; }

// Some memory of `count` floats that outlives the calls of one rank.
struct Memory {
  explicit Memory(std::size_t count) : values(count) {}
  std::span<std::byte> bytes() { return std::as_writable_bytes(std::span(values)); }
  std::vector<float> values;
};

// How often something happened, for threads to wait for.
class Tally {
 public:
  void add() {
    ++count_;
    count_.notify_all();
  }
  void wait_for(int count) {
    for (int seen = count_; seen < count; seen = count_) count_.wait(seen);
  }

 private:
  std::atomic<int> count_ = 0;
};

TEST_CASE(
    "a deadline that passes names group, rank, operation, its number and who is missing, on every rank") {
  ThreadGroup group(3, std::chrono::milliseconds(50), "tp");
  Tally gave_up;
  const Errors errors = run_ranks(group, [&](Communicator& rank) {
    Memory memory(4);
    rank.barrier();
    if (rank.rank() == 1) gave_up.wait_for(2);
    try {
      rank.all_reduce(memory.values);
    } catch (const CollectiveError&) {
      gave_up.add();
      gave_up.wait_for(3);  // nobody leaves before
      throw;
    }
  });
  for (std::size_t r = 0; r < 3; ++r) {
    INFO(errors[r]);
    CHECK(says(errors[r], "group tp, rank " + std::to_string(r) + " of 3, all-reduce 2 of 16 bytes: rank "));
    const bool alone = says(errors[r], "waited 50 ms for rank 1");
    CHECK((alone || says(errors[r], "waited 50 ms for ranks 1 and")));
  }
}

TEST_CASE("a deadline that passes tells what the missing rank does instead, where it waits as well") {
  // Rank 1 starts its wait well after rank 0, but maybe too late to be seen in it: then once more.
  bool seen = false;
  for (int attempt = 0; attempt < 100 && !seen; ++attempt) {
    ThreadGroup group(3, std::chrono::milliseconds(40), "tp");
    Tally sending;
    Tally gave_up;
    const Errors errors = run_ranks(group, [&](Communicator& rank) {
      Memory memory(2);
      try {
        if (rank.rank() == 0) sending.add();
        if (rank.rank() == 0) rank.send(memory.bytes(), 1);
        sending.wait_for(1);
        if (rank.rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(5));
        if (rank.rank() == 1) rank.receive(memory.bytes(), 2);
        gave_up.wait_for(2);
      } catch (const CollectiveError&) {
        gave_up.add();
        gave_up.wait_for(2);
        throw;
      }
    });
    CHECK(errors[2].empty());
    seen = errors[0].find("rank 0 waited 40 ms for rank 1; rank 1 is in receive 1 of 8 bytes from rank 2") !=
           std::string::npos;
  }
  CHECK(seen);
}

// What both ranks of a group say when they call these.
void check_mismatch(const Work& first, const Work& second, const std::string& one, const std::string& other) {
  const Errors errors =
      run_ranks(2, [&](Communicator& group) { group.rank() == 0 ? first(group) : second(group); });
  for (const std::string& error : errors) {
    INFO(error);
    CHECK(says(error, "rank 0 calls " + one));
    CHECK(says(error, "rank 1 calls " + other));
    CHECK(says(error, " where rank "));
  }
}

TEST_CASE("ranks that call different operations all fail at once, and both calls are named") {
  Memory a(4);
  Memory b(4);
  const Work reduce = [&](Communicator& group) { group.all_reduce(a.values); };
  const Work barrier = [](Communicator& group) { group.barrier(); };
  check_mismatch(reduce, barrier, "all-reduce 1 of 16 bytes", "barrier 1");
  check_mismatch(
      reduce, [&](Communicator& group) { group.send(b.bytes(), 0); }, "all-reduce 1 of 16 bytes",
      "send 1 of 16 bytes to rank 0");
  check_mismatch([](Communicator& group) { group.split(3); }, barrier, "split 1", "barrier 1");
  check_mismatch([&](Communicator& group) { group.receive(a.bytes(), 1); },
                 [&](Communicator& group) { group.receive(b.bytes(), 0); },
                 "receive 1 of 16 bytes from rank 1", "receive 1 of 16 bytes from rank 0");
}

TEST_CASE("ranks that call one operation with different sizes or roots all fail, and both calls are named") {
  Memory a(4);
  Memory b(3);
  Memory all_a(8);
  Memory all_b(6);
  check_mismatch([&](Communicator& group) { group.all_reduce(a.values); },
                 [&](Communicator& group) { group.all_reduce(b.values); }, "all-reduce 1 of 16 bytes",
                 "all-reduce 1 of 12 bytes");
  check_mismatch([&](Communicator& group) { group.all_gather(a.bytes(), all_a.bytes()); },
                 [&](Communicator& group) { group.all_gather(b.bytes(), all_b.bytes()); },
                 "all-gather 1 of 16 bytes", "all-gather 1 of 12 bytes");
  check_mismatch([&](Communicator& group) { group.reduce_scatter(all_a.values, a.values); },
                 [&](Communicator& group) { group.reduce_scatter(all_b.values, b.values); },
                 "reduce-scatter 1 of 32 bytes", "reduce-scatter 1 of 24 bytes");
  check_mismatch([&](Communicator& group) { group.broadcast(a.bytes(), 0); },
                 [&](Communicator& group) { group.broadcast(all_a.bytes(), 0); },
                 "broadcast 1 of 16 bytes from root 0", "broadcast 1 of 32 bytes from root 0");
  check_mismatch([&](Communicator& group) { group.broadcast(a.bytes(), 0); },
                 [&](Communicator& group) { group.broadcast(all_a.bytes().subspan(16), 1); },
                 "broadcast 1 of 16 bytes from root 0", "broadcast 1 of 16 bytes from root 1");
  check_mismatch([&](Communicator& group) { group.send(a.bytes(), 1); },
                 [&](Communicator& group) { group.receive(b.bytes(), 0); }, "send 1 of 16 bytes to rank 1",
                 "receive 1 of 12 bytes from rank 0");
}

TEST_CASE("an all-to-all whose sizes fit for some pairs and not for one fails, and the pair is named") {
  const Errors errors = run_ranks(3, [](Communicator& group) {
    Memory given(6);
    Memory taken(6);
    std::vector<std::size_t> give(3, 8);
    std::vector<std::size_t> take(3, 8);
    if (group.rank() == 2) take = {8, 4, 8};
    const std::size_t all = group.rank() == 2 ? 20 : 24;
    group.all_to_all(given.bytes(), give, taken.bytes().first(all), take);
  });
  for (const std::string& error : errors) {
    INFO(error);
    CHECK(says(error, "rank 2 calls all-to-all 1 of 8 bytes given and 4 taken"));
    CHECK(says(error, "rank 1 calls all-to-all 1 of 8 bytes given and 8 taken"));
  }
}

TEST_CASE("sends that wait for each other in a ring fail at once, and the ring is named") {
  const Errors errors = run_ranks(4, [](Communicator& group) {
    Memory memory(1);
    group.send(memory.bytes(), (group.rank() + 1) % 4);
  });
  for (const std::string& error : errors) {
    INFO(error);
    CHECK(says(error, "wait for each other in a ring: "));
    for (int r = 0; r < 4; ++r) {
      const std::string to = std::to_string((r + 1) % 4);
      CHECK(says(error, "rank " + std::to_string(r) + " in send 1 of 4 bytes to rank " + to));
    }
  }
}

TEST_CASE("an abort ends those who wait and those who come later, with its reason, and may be called twice") {
  ThreadGroup group(2, kPatience, "pp");
  const auto second = group.join(1);
  Tally entered;
  std::string waiting;
  const auto first = group.join(0);
  std::thread thread([&] {
    entered.add();
    try {
      first->barrier();
    } catch (const CollectiveError& error) {
      waiting = error.what();
    }
  });
  entered.wait_for(1);
  second->abort("the model is gone");
  second->abort("another reason");
  thread.join();
  CHECK(waiting == "group pp, rank 0 of 2, barrier 1: the model is gone");
  CHECK_THROWS_WITH(second->barrier(), "group pp, rank 1 of 2, barrier 1: the model is gone");
  CHECK_THROWS_WITH(second->split(1), "group pp, rank 1 of 2, split 2: the model is gone");
  CHECK(second->count(CollectiveOp::kBarrier) == CollectiveCount{});
}

TEST_CASE("a group split off fails with the group it came from, not the other way round") {
  const Errors errors = run_ranks(2, [](Communicator& group) {
    const auto part = group.split(0);
    const auto other = group.split(group.rank());
    other->abort("alone");
    part->barrier();
    group.barrier();
    if (group.rank() == 0) group.abort("all of it");
    part->barrier();
    if (group.rank() == 1) part->barrier();
  });
  for (const std::string& error : errors) {
    INFO(error);
    CHECK(says(error, "group world/0, "));
    CHECK(says(error, "group world has failed: all of it"));
  }
}

TEST_CASE("a rank that has left is named at once by those who wait for it, then or later") {
  const Errors errors = run_ranks(3, [](Communicator& group) {
    if (group.rank() != 1) group.barrier();
  });
  CHECK(errors == Errors{"group world, rank 0 of 3, barrier 1: rank 1 has left", "",
                         "group world, rank 2 of 3, barrier 1: rank 1 has left"});
}

TEST_CASE("a call that cannot be right is refused and fails the group, whose others would wait for it") {
  const std::vector<std::pair<Work, std::string>> cases{
      {[](Communicator& g) { g.all_gather(Memory(1).bytes(), Memory(3).bytes()); },
       "12 bytes for all pieces, which needs 8"},
      {[](Communicator& g) {
         Memory mine(1);
         g.reduce_scatter(Memory(3).values, mine.values);
       },
       "12 bytes for the values of all ranks, which needs 8"},
      {[](Communicator& g) { g.broadcast(Memory(1).bytes(), 2); }, "there is no such rank"},
      {[](Communicator& g) { g.broadcast(Memory(1).bytes(), -1); }, "there is no such rank"},
      {[](Communicator& g) { g.send(Memory(1).bytes(), 0); }, "there is no such other rank"},
      {[](Communicator& g) { g.receive(Memory(1).bytes(), 2); }, "there is no such other rank"},
      {[](Communicator& g) {
         g.all_to_all(Memory(2).bytes(), std::vector<std::size_t>{8}, Memory(2).bytes(),
                      std::vector<std::size_t>{4, 4});
       },
       "one size a rank"},
      {[](Communicator& g) {
         g.all_to_all(Memory(2).bytes(), std::vector<std::size_t>{4, 8}, Memory(2).bytes(),
                      std::vector<std::size_t>{4, 4});
       },
       "8 bytes for the pieces sent, which needs 12"},
      {[](Communicator& g) {
         g.all_to_all(Memory(2).bytes(), std::vector<std::size_t>{4, 4}, Memory(2).bytes(),
                      std::vector<std::size_t>{4, 5});
       },
       "8 bytes for the pieces received, which needs 9"},
      {[](Communicator& g) {
         g.all_to_all(Memory(2).bytes(), std::vector<std::size_t>{0, 8}, Memory(2).bytes(),
                      std::vector<std::size_t>{4, 4});
       },
       "another size than it takes"}};
  for (const auto& one : cases) {
    const Work& work = one.first;
    const std::string& text = one.second;
    const Errors errors =
        run_ranks(2, [&](Communicator& group) { group.rank() == 0 ? work(group) : group.barrier(); });
    INFO(errors[0] << "\n" << errors[1]);
    CHECK(says(errors[0], "group world, rank 0 of 2, "));
    CHECK(says(errors[0], text));
    CHECK(says(errors[1], "rank 0 calls "));
    CHECK(says(errors[1], " wrongly: "));
    CHECK(says(errors[1], text));
  }
}

TEST_CASE("a group is for at least one rank, a deadline of at most a day, and each rank once") {
  make_checks_throw();
  CHECK_THROWS_AS(ThreadGroup(0, kPatience, "none"), BrokenInvariant);
  CHECK_THROWS_AS(ThreadGroup(1, std::chrono::milliseconds(0), "now"), BrokenInvariant);
  CHECK_THROWS_AS(ThreadGroup(1, std::chrono::hours(25), "never"), BrokenInvariant);
  ThreadGroup group(1, kPatience, "one");
  const auto rank = group.join(0);
  CHECK_THROWS_AS(group.join(0), BrokenInvariant);
  CHECK_THROWS_AS(group.join(1), BrokenInvariant);
}

}  // namespace
}  // namespace servetwin::test::thread_group_failure_test
