// One call of a collective as data: what must agree between ranks, and how it is named in errors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/collectives/communicator.h"

namespace servetwin {

// `in` is what this rank gives, `out` where its result goes; of an all-reduce and of a broadcast both are the
// same memory.
struct CollectiveCall {
  CollectiveOp op = CollectiveOp::kBarrier;
  std::int64_t number = 0;    // from 1: of the group's collectives, or of the messages of this pair and way
  int peer = -1;              // root of a broadcast, other rank of a send or a receive
  std::optional<int> colour;  // of a split, which counts as a barrier
  std::span<const std::byte> in;
  std::span<std::byte> out;
  std::span<const std::size_t> in_bytes;  // of an all-to-all, by rank
  std::span<const std::size_t> out_bytes;
};

// What a rank tells another about its call: a plain value, so that it can be sent as it is.
struct CallHeader {
  std::int32_t op = 0;
  std::int32_t splits = 0;  // whether it is a split, and its colour
  std::int32_t colour = 0;
  std::int32_t peer = 0;
  std::int64_t number = 0;
  std::int64_t bytes = 0;     // of the message; of an all-to-all what the one gives to the other
  std::int64_t expected = 0;  // the same, as the other must have it
};
CallHeader header_for(const CollectiveCall& call, int reader);

// Both belong to one operation and fit together.
bool agree(const CallHeader& one, const CallHeader& other);
// "all-reduce 3 of 16384 bytes", "send 1 of 8 bytes to rank 2", "split 4".
std::string describe(const CallHeader& header);
std::string describe(const CollectiveCall& call);
// "rank 1 calls all-reduce 3 of 4 bytes where rank 0 calls barrier 3".
std::string describe_mismatch(int rank, const CallHeader& header, int other, const CallHeader& theirs);
// "rank 2", "ranks 0 and 3", "ranks 0, 1 and 3".
std::string name_ranks(const std::vector<int>& ranks);

bool is_message(const CollectiveCall& call);  // a send or a receive

// Of `count` elements in `ranks` pieces, whose first are one longer where it does not divide.
std::size_t piece_size(std::size_t count, int ranks, int rank);

// Memory that was given as floats.
const float* floats(std::span<const std::byte> bytes);
std::span<float> floats(std::span<std::byte> bytes);

// Element i of `out` becomes ((parts[0][i] + parts[1][i]) + parts[2][i]) + …; `out` may be one of the parts.
void sum_in_rank_order(std::span<const float* const> parts, std::span<float> out);
void copy_bytes(std::span<const std::byte> from, std::span<std::byte> to);  // may overlap; sizes are equal

}  // namespace servetwin
