// If these fail, a model split over processes computes something else than one split over threads.
#include "kernels/collectives/mpi/mpi_communicator.h"

#include <cstring>
#include <thread>

#include "kernels/collectives/all_reduce_cost.h"
#include "kernels/collectives/collectives_cost.h"
#include "tests/kernels/thread_ranks.h"
#include "tests/mpi/mpi_world.h"
#include "tests/support/catch.h"
#include "tests/support/collective_programs.h"

namespace servetwin::test::mpi_communicator_test {
namespace {

using Counts = std::vector<CollectiveCount>;

Counts counts_of(const Communicator& group) {
  Counts counts;
  for (std::size_t op = 0; op < kNumCollectiveOps; ++op) {
    counts.push_back(group.count(static_cast<CollectiveOp>(op)));
  }
  return counts;
}

std::span<std::byte> bytes_of(std::vector<float>& values) {
  return std::as_writable_bytes(std::span(values));
}

TEST_CASE(
    "random programs give over MPI what the definitions say, with a group of threads' bits and counts") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    INFO("seed " << seed);
    const auto group = mpi_group();
    const CollectiveProgram program = random_program(seed, group->size(), 12);
    const ByteBuffer result = play(program, *group);
    CHECK(result == expected_results(program, group->rank()));
    ByteBuffer of_threads;
    Counts counts;
    run_ranks(group->size(), [&](Communicator& rank) {
      const ByteBuffer own = play(program, rank);
      if (rank.rank() != group->rank()) return;
      of_threads = own;
      counts = counts_of(rank);
    });
    CHECK(result == of_threads);
    CHECK(counts_of(*group) == counts);
  }
}

TEST_CASE("messages of megabytes give over MPI what the definitions say") {
  const auto group = mpi_group();
  CollectiveProgram program{7, group->size(), {}};
  for (const CollectiveOp op : {CollectiveOp::kAllReduce, CollectiveOp::kAllGather,
                                CollectiveOp::kReduceScatter, CollectiveOp::kBroadcast}) {
    ProgramStep& step = program.steps.emplace_back();
    step.op = op;
    step.count = 1'000'001;
    step.root = 1;
  }
  CHECK(play(program, *group) == expected_results(program, group->rank()));
}

// Each group has a thread of its own, so their messages come in any order.
TEST_CASE("groups split off from groups, and from those again, keep their messages apart") {
  const auto group = mpi_group();
  std::vector<std::unique_ptr<Communicator>> groups;
  groups.push_back(group->split(group->rank() % 2));
  groups.push_back(groups[0]->split(group->rank() % 2 == 0 ? 0 : groups[0]->rank()));
  groups.push_back(group->split(-group->rank() / 2));
  groups.push_back(groups[0]->split(5));
  groups.push_back(group->split(5));
  std::vector<ByteBuffer> results(groups.size());
  std::vector<CollectiveProgram> programs;
  std::vector<std::thread> threads;
  for (const auto& one : groups)
    programs.push_back(random_program(programs.size() + 1, one->size(), 40, false));
  for (std::size_t i = 0; i < groups.size(); ++i) {
    threads.emplace_back([&, i] { results[i] = play(programs[i], *groups[i]); });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < groups.size(); ++i) {
    CHECK(results[i] == expected_results(programs[i], groups[i]->rank()));
  }
}

// The mean over the ranks of what each has.
double mean_over_ranks(Communicator& group, std::int64_t bytes) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(group.size()));
  group.all_gather(std::as_bytes(std::span(&bytes, 1)), std::as_writable_bytes(std::span(all)));
  std::int64_t sum = 0;
  for (const std::int64_t one : all) sum += one;
  return static_cast<double>(sum) / group.size();
}

TEST_CASE("what the ranks send over MPI is what the closed forms say, rank by rank where pieces are equal") {
  const auto group = mpi_group();
  const auto part = group->split(0);
  auto& counted = dynamic_cast<MpiCommunicator&>(*part);
  const double n = group->size();
  const std::size_t size = static_cast<std::size_t>(group->size());
  const auto sent = [&](CollectiveOp op) { return static_cast<double>(counted.sent_bytes(op)); };
  std::vector<float> message(12 * size);
  std::vector<float> other(12 * size);
  std::vector<float> piece(12);
  const double bytes = 48 * n;
  counted.all_reduce(message);
  CHECK(sent(CollectiveOp::kAllReduce) == Approx(all_reduce_sent_bytes(bytes, n)));
  counted.all_gather(bytes_of(piece), bytes_of(message));
  CHECK(sent(CollectiveOp::kAllGather) == all_gather_sent_bytes(48, n));
  counted.reduce_scatter(message, piece);
  CHECK(sent(CollectiveOp::kReduceScatter) == Approx(reduce_scatter_sent_bytes(bytes, n)));
  const std::vector<std::size_t> sizes(size, 48);
  counted.all_to_all(bytes_of(message), sizes, bytes_of(other), sizes);
  CHECK(sent(CollectiveOp::kAllToAll) == Approx(all_to_all_sent_bytes(bytes, n)));
  counted.broadcast(bytes_of(message), 1);
  CHECK(sent(CollectiveOp::kBroadcast) == (group->rank() == 1 ? broadcast_root_sent_bytes(bytes, n) : 0.0));
  CHECK(mean_over_ranks(*group, counted.sent_bytes(CollectiveOp::kBroadcast)) ==
        Approx(broadcast_sent_bytes(bytes, n)));
  if (group->rank() == 0) counted.send(bytes_of(piece), 1);
  if (group->rank() == 1) counted.receive(bytes_of(piece), 0);
  CHECK(sent(CollectiveOp::kSend) == (group->rank() == 0 ? send_sent_bytes(48) : 0.0));
  CHECK(sent(CollectiveOp::kReceive) == 0);
  counted.barrier();
  CHECK(sent(CollectiveOp::kBarrier) == 0);
  // Pieces that are not equal: all ranks together.
  std::vector<float> odd(1021);
  const std::int64_t before = counted.sent_bytes(CollectiveOp::kAllReduce);
  counted.all_reduce(odd);
  CHECK(mean_over_ranks(*group, counted.sent_bytes(CollectiveOp::kAllReduce) - before) ==
        Approx(all_reduce_sent_bytes(4 * 1021, n)));
}

}  // namespace
}  // namespace servetwin::test::mpi_communicator_test
