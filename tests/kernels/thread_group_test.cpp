// If these fail, ranks that are threads get other sums than the definition, or wait for ever.
#include "kernels/collectives/thread_group.h"

#include <algorithm>

#include "tests/kernels/thread_ranks.h"
#include "tests/support/catch.h"
#include "tests/support/collective_programs.h"

namespace servetwin::test::thread_group_test {
namespace {

using Errors = std::vector<std::string>;

bool all_empty(const Errors& errors) {
  return std::all_of(errors.begin(), errors.end(), [](const std::string& e) { return e.empty(); });
}

// A program of one step on each size of group.
template <class Change>
void check_step(const Change& change) {
  for (const int ranks : {1, 2, 3, 4, 7}) {
    for (const std::size_t count : {0UL, 1UL, 5UL, 1023UL, 2049UL}) {
      INFO(ranks << " ranks, " << count << " elements");
      CollectiveProgram program{count + 1, ranks, {{}}};
      program.steps[0].count = count;
      change(program);
      std::vector<ByteBuffer> results(static_cast<std::size_t>(ranks));
      CHECK(all_empty(run_ranks(ranks, [&](Communicator& group) {
        results[static_cast<std::size_t>(group.rank())] = play(program, group);
      })));
      for (int r = 0; r < ranks; ++r) {
        CHECK(results[static_cast<std::size_t>(r)] == expected_results(program, r));
      }
    }
  }
}

void check_op(CollectiveOp op) {
  check_step([&](CollectiveProgram& program) { program.steps[0].op = op; });
}

TEST_CASE("an all-reduce gives every rank the bits of the sum in rank order") {
  check_op(CollectiveOp::kAllReduce);
}

TEST_CASE("an all-gather gives every rank all pieces in rank order") { check_op(CollectiveOp::kAllGather); }

TEST_CASE("a reduce-scatter gives every rank its piece of the sum in rank order") {
  check_op(CollectiveOp::kReduceScatter);
}

TEST_CASE("an all-to-all gives every rank what each had for it, whatever the sizes") {
  check_step([](CollectiveProgram& program) {
    ProgramStep& step = program.steps[0];
    step.op = CollectiveOp::kAllToAll;
    const std::size_t pairs = static_cast<std::size_t>(program.ranks * program.ranks);
    for (std::size_t pair = 0; pair < pairs; ++pair) step.pair_bytes.push_back(pair % 3 * step.count);
  });
}

TEST_CASE("a broadcast gives every rank what the root has, whichever is the root") {
  check_step([](CollectiveProgram& program) {
    program.steps[0].op = CollectiveOp::kBroadcast;
    program.steps.resize(static_cast<std::size_t>(program.ranks), program.steps[0]);
    for (int r = 0; r < program.ranks; ++r) program.steps[static_cast<std::size_t>(r)].root = r;
  });
}

TEST_CASE("random programs of collectives give what the definitions say, on groups of every size") {
  for (const int ranks : {1, 2, 3, 4, 7}) {
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
      INFO(ranks << " ranks, seed " << seed);
      const CollectiveProgram program = random_program(seed, ranks, 12);
      std::vector<ByteBuffer> results(static_cast<std::size_t>(ranks));
      const Errors errors = run_ranks(ranks, [&](Communicator& group) {
        results[static_cast<std::size_t>(group.rank())] = play(program, group);
      });
      CHECK(errors == Errors(errors.size()));
      for (int r = 0; r < ranks; ++r) {
        CHECK(results[static_cast<std::size_t>(r)] == expected_results(program, r));
      }
    }
  }
}

TEST_CASE("a rank's own piece may lie where the gathered pieces go, and a reduced one where it came from") {
  run_ranks(3, [](Communicator& group) {
    const std::size_t rank = static_cast<std::size_t>(group.rank());
    std::vector<float> all(6, -1.0F);
    std::fill_n(all.begin() + static_cast<std::ptrdiff_t>(2 * rank), 2, static_cast<float>(rank));
    const std::span<float> mine = std::span(all).subspan(2 * rank, 2);
    group.all_gather(std::as_bytes(mine), std::as_writable_bytes(std::span(all)));
    const bool gathered = all == std::vector<float>{0, 0, 1, 1, 2, 2};
    group.reduce_scatter(all, mine);
    const float sum = static_cast<float>(3 * rank);
    if (!gathered || mine[0] != sum || mine[1] != sum) group.abort("wrong");
    group.barrier();
  });
  SUCCEED();
}

TEST_CASE("messages between a pair arrive in order, and pairs do not wait for each other") {
  std::vector<int> seen;
  const Errors errors = run_ranks(4, [&](Communicator& group) {
    for (int i = 0; i < 50; ++i) {
      int value = 10 * i + group.rank();
      const auto bytes = std::as_writable_bytes(std::span(&value, 1));
      if (group.rank() == 0) group.send(bytes, 1);
      if (group.rank() == 1) {
        group.receive(bytes, 0);
        seen.push_back(value);
      }
    }
    // Ranks 2 and 3 have not met before this.
    int value = group.rank();
    const auto bytes = std::as_writable_bytes(std::span(&value, 1));
    if (group.rank() == 3) group.send(bytes, 2);
    if (group.rank() == 2) group.receive(bytes, 3);
    group.barrier();
  });
  CHECK(all_empty(errors));
  std::vector<int> expected;
  for (int i = 0; i < 50; ++i) expected.push_back(10 * i);
  CHECK(seen == expected);
}

TEST_CASE("a split makes a group of each colour, ranked as before, with counts and a name of its own") {
  std::vector<std::string> seen(5);
  const Errors errors = run_ranks(5, [&](Communicator& group) {
    const int before = group.rank();
    const auto part = group.split(before % 2 == 0 ? 7 : -1);
    float sum = static_cast<float>(before);
    part->all_reduce(std::span(&sum, 1));
    seen[static_cast<std::size_t>(before)] = std::to_string(part->rank()) + "/" +
                                             std::to_string(part->size()) + " " +
                                             std::to_string(static_cast<int>(sum)) + " " +
                                             std::to_string(part->count(CollectiveOp::kAllReduce).calls) +
                                             std::to_string(group.count(CollectiveOp::kAllReduce).calls);
    if (before == 3) part->abort("enough");
    group.barrier();  // which still works
    if (before % 2 == 1) part->barrier();
  });
  CHECK(seen == std::vector<std::string>{"0/3 6 10", "0/2 4 10", "1/3 6 10", "1/2 4 10", "2/3 6 10"});
  CHECK(errors == Errors{"", "group world/-1, rank 0 of 2, barrier 2: enough", "",
                         "group world/-1, rank 1 of 2, barrier 2: enough", ""});
}

TEST_CASE("calls and bytes are counted per operation, as the caller gave them") {
  const Errors errors = run_ranks(3, [](Communicator& group) {
    std::vector<float> one(4);
    std::vector<float> three(12);
    group.all_reduce(three);
    group.all_reduce(one);
    group.all_gather(std::as_bytes(std::span(one)), std::as_writable_bytes(std::span(three)));
    group.reduce_scatter(three, one);
    group.broadcast(std::as_writable_bytes(std::span(one)), 1);
    group.barrier();
    const std::vector<std::size_t> sizes(3, 16);
    std::vector<float> other(12);
    group.all_to_all(std::as_bytes(std::span(three)), sizes, std::as_writable_bytes(std::span(other)), sizes);
    if (group.rank() == 0) group.send(std::as_bytes(std::span(one)), 2);
    if (group.rank() == 2) group.receive(std::as_writable_bytes(std::span(one)), 0);
    const bool sends = group.rank() == 0;
    const bool receives = group.rank() == 2;
    const std::vector<CollectiveCount> expected{
        {2, 64}, {1, 16}, {1, 48}, {1, 48}, {1, 16}, {sends, sends * 16}, {receives, receives * 16}, {1, 0}};
    for (std::size_t op = 0; op < kNumCollectiveOps; ++op) {
      if (group.count(static_cast<CollectiveOp>(op)) == expected[op]) continue;
      throw CollectiveError(std::string("count of ") + to_string(static_cast<CollectiveOp>(op)));
    }
  });
  CHECK(errors == Errors(3));
}

}  // namespace
}  // namespace servetwin::test::thread_group_test
