// Programs of collectives drawn from a seed, what they give by definition, and one rank's side of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/collectives/communicator.h"

namespace servetwin {

using ByteBuffer = std::vector<std::byte>;

struct ProgramStep {
  enum class Kind { collective, messages, split };
  Kind kind = Kind::collective;
  CollectiveOp op = CollectiveOp::kBarrier;
  std::size_t count = 0;                  // floats, of a piece where an operation has pieces
  int root = 0;                           // of a broadcast
  std::vector<std::size_t> pair_bytes;    // what r gives to s, at r * ranks + s
  std::vector<int> receiver, sender;      // by rank; −1: takes no part in the messages
  std::vector<int> colour, rank_in_part;  // by rank, of a split; colours count from 0
  std::vector<int> part_size;             // by colour
};

struct CollectiveProgram {
  std::uint64_t seed = 0;
  int ranks = 0;
  std::vector<ProgramStep> steps;
};

// Every operation, odd and empty sizes, pairs of ranks, groups split off, which run programs of their own.
CollectiveProgram random_program(std::uint64_t seed, int ranks, int num_steps, bool may_split = true);
// The program that the ranks of one colour run in the group split off at `step`.
CollectiveProgram part_program(const CollectiveProgram& program, std::size_t step, int colour);

// What `rank` gives in a step: float i is a function of all four, with magnitudes such that the order of a
// sum shows in its bits.
std::vector<float> program_floats(const CollectiveProgram& program,
                                  std::size_t step,
                                  int rank,
                                  std::size_t count);
ByteBuffer program_bytes(const CollectiveProgram& program, std::size_t step, int rank, std::size_t count);

// Everything that `rank` receives, one result behind the other, by the operations' definitions alone.
ByteBuffer expected_results(const CollectiveProgram& program, int rank);
// The same from a group.
ByteBuffer play(const CollectiveProgram& program, Communicator& group);

}  // namespace servetwin
