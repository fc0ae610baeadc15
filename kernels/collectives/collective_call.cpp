// How calls are named and compared, and the sums that every implementation shares.
#include "kernels/collectives/collective_call.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "engine/base/check.h"

namespace servetwin {
namespace {

CollectiveOp op_of(const CallHeader& header) { return static_cast<CollectiveOp>(header.op); }

bool is_pair(CollectiveOp send, CollectiveOp receive) {
  return send == CollectiveOp::kSend && receive == CollectiveOp::kReceive;
}

std::int64_t size_of(std::span<const std::byte> bytes) { return static_cast<std::int64_t>(bytes.size()); }

}  // namespace

const char* to_string(CollectiveOp op) {
  static constexpr std::array<const char*, kNumCollectiveOps> kNames{
      "all-reduce", "all-gather", "reduce-scatter", "all-to-all", "broadcast", "send", "receive", "barrier"};
  return kNames.at(static_cast<std::size_t>(op));
}

CallHeader header_for(const CollectiveCall& call, int reader) {
  CallHeader header;
  header.op = static_cast<std::int32_t>(call.op);
  header.splits = call.colour ? 1 : 0;
  header.colour = call.colour.value_or(0);
  header.peer = call.peer;
  header.number = call.number;
  if (call.op == CollectiveOp::kAllToAll) {
    header.bytes = static_cast<std::int64_t>(call.in_bytes[static_cast<std::size_t>(reader)]);
    header.expected = static_cast<std::int64_t>(call.out_bytes[static_cast<std::size_t>(reader)]);
  } else {
    header.bytes = call.op == CollectiveOp::kReceive ? size_of(call.out) : size_of(call.in);
    header.expected = header.bytes;
  }
  return header;
}

bool agree(const CallHeader& one, const CallHeader& other) {
  if (one.number != other.number || one.bytes != other.expected || one.expected != other.bytes) return false;
  if (is_pair(op_of(one), op_of(other)) || is_pair(op_of(other), op_of(one))) return true;
  const bool same = one.op == other.op && one.splits == other.splits && one.peer == other.peer;
  return same && op_of(one) != CollectiveOp::kSend && op_of(one) != CollectiveOp::kReceive;
}

std::string describe(const CallHeader& header) {
  const CollectiveOp op = op_of(header);
  std::string text = header.splits != 0 ? "split" : to_string(op);
  text += " " + std::to_string(header.number);
  if (op != CollectiveOp::kBarrier) text += " of " + std::to_string(header.bytes) + " bytes";
  if (op == CollectiveOp::kAllToAll) text += " given and " + std::to_string(header.expected) + " taken";
  const std::string peer = std::to_string(header.peer);
  if (op == CollectiveOp::kBroadcast) text += " from root " + peer;
  if (op == CollectiveOp::kSend) text += " to rank " + peer;
  if (op == CollectiveOp::kReceive) text += " from rank " + peer;
  return text;
}

std::string describe(const CollectiveCall& call) {
  if (call.op != CollectiveOp::kAllToAll) return describe(header_for(call, 0));
  return "all-to-all " + std::to_string(call.number) + " of " + std::to_string(call.in.size()) + " bytes";
}

std::string describe_mismatch(int rank, const CallHeader& header, int other, const CallHeader& theirs) {
  return "rank " + std::to_string(rank) + " calls " + describe(header) + " where rank " +
         std::to_string(other) + " calls " + describe(theirs);
}

std::string name_ranks(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (i > 0) text += i + 1 == ranks.size() ? " and " : ", ";
    text += std::to_string(ranks[i]);
  }
  return text;
}

bool is_message(const CollectiveCall& call) {
  return call.op == CollectiveOp::kSend || call.op == CollectiveOp::kReceive;
}

std::size_t piece_size(std::size_t count, int ranks, int rank) {
  const std::size_t n = static_cast<std::size_t>(ranks);
  return count / n + (static_cast<std::size_t>(rank) < count % n ? 1 : 0);
}

const float* floats(std::span<const std::byte> bytes) { return reinterpret_cast<const float*>(bytes.data()); }

std::span<float> floats(std::span<std::byte> bytes) {
  return {reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float)};
}

void sum_in_rank_order(std::span<const float* const> parts, std::span<float> out) {
  CHECK_INVARIANT(!parts.empty());
  // A block at a time, which stays in the nearest cache while the ranks' parts pass by.
  std::array<float, 1024> sums;
  for (std::size_t first = 0; first < out.size(); first += sums.size()) {
    const std::size_t count = std::min(sums.size(), out.size() - first);
    std::copy_n(parts[0] + first, count, sums.begin());
    for (const float* part : parts.subspan(1)) {
      for (std::size_t i = 0; i < count; ++i) sums[i] += part[first + i];
    }
    std::copy_n(sums.begin(), count, out.begin() + static_cast<std::ptrdiff_t>(first));
  }
}

void copy_bytes(std::span<const std::byte> from, std::span<std::byte> to) {
  CHECK_INVARIANT(from.size() == to.size(), from.size(), to.size());
  if (!from.empty()) std::memmove(to.data(), from.data(), from.size());
}

}  // namespace servetwin
