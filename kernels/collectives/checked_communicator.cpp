// Each operation of the interface becomes one CollectiveCall.
#include "kernels/collectives/checked_communicator.h"

#include <numeric>
#include <utility>

#include "engine/base/check.h"

namespace servetwin {
namespace {

std::size_t sum(std::span<const std::size_t> sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), std::size_t{0});
}

std::string against(std::size_t found, const std::string& what, std::size_t expected) {
  return std::to_string(found) + " bytes for " + what + ", which needs " + std::to_string(expected);
}

}  // namespace

CheckedCommunicator::CheckedCommunicator(std::string name, int rank, int size)
    : name_(std::move(name)), rank_(rank), size_(size) {
  CHECK_INVARIANT(size >= 1 && rank >= 0 && rank < size, rank, size);
  sends_.resize(static_cast<std::size_t>(size));
  receives_.resize(static_cast<std::size_t>(size));
}

CollectiveError CheckedCommunicator::failed(const CollectiveCall& call, const std::string& reason) const {
  return CollectiveError("group " + name_ + ", rank " + std::to_string(rank_) + " of " +
                         std::to_string(size_) + ", " + describe(call) + ": " + reason);
}

CollectiveCall CheckedCommunicator::collective(CollectiveOp op,
                                               std::span<const std::byte> in,
                                               std::span<std::byte> out) {
  CollectiveCall call;
  call.op = op;
  call.number = ++collectives_;
  call.in = in;
  call.out = out;
  return call;
}

CollectiveCall CheckedCommunicator::make_split(int colour) {
  CollectiveCall call = collective(CollectiveOp::kBarrier, {}, {});
  call.colour = colour;
  return call;
}

void CheckedCommunicator::require(bool sound, const CollectiveCall& call, const std::string& problem) {
  if (sound) return;
  abort("rank " + std::to_string(rank_) + " calls " + describe(call) + " wrongly: " + problem);
  throw failed(call, problem);
}

void CheckedCommunicator::run_and_count(const CollectiveCall& call, std::size_t bytes) {
  run(call);
  CollectiveCount& count = counts_.at(static_cast<std::size_t>(call.op));
  ++count.calls;
  count.bytes += static_cast<std::int64_t>(bytes);
}

CollectiveCount CheckedCommunicator::count(CollectiveOp op) const {
  return counts_.at(static_cast<std::size_t>(op));
}

void CheckedCommunicator::all_reduce(std::span<float> values) {
  const std::span<std::byte> bytes = std::as_writable_bytes(values);
  run_and_count(collective(CollectiveOp::kAllReduce, bytes, bytes), bytes.size());
}

void CheckedCommunicator::all_gather(std::span<const std::byte> mine, std::span<std::byte> all) {
  const CollectiveCall call = collective(CollectiveOp::kAllGather, mine, all);
  const std::size_t needed = mine.size() * static_cast<std::size_t>(size_);
  require(all.size() == needed, call, against(all.size(), "all pieces", needed));
  run_and_count(call, mine.size());
}

void CheckedCommunicator::reduce_scatter(std::span<const float> values, std::span<float> mine) {
  const CollectiveCall call =
      collective(CollectiveOp::kReduceScatter, std::as_bytes(values), std::as_writable_bytes(mine));
  const std::size_t needed = call.out.size() * static_cast<std::size_t>(size_);
  require(call.in.size() == needed, call, against(call.in.size(), "the values of all ranks", needed));
  run_and_count(call, call.in.size());
}

void CheckedCommunicator::all_to_all(std::span<const std::byte> send,
                                     std::span<const std::size_t> send_bytes,
                                     std::span<std::byte> receive,
                                     std::span<const std::size_t> receive_bytes) {
  CollectiveCall call = collective(CollectiveOp::kAllToAll, send, receive);
  call.in_bytes = send_bytes;
  call.out_bytes = receive_bytes;
  const std::size_t n = static_cast<std::size_t>(size_);
  require(send_bytes.size() == n && receive_bytes.size() == n, call, "it needs one size a rank");
  require(send.size() == sum(send_bytes), call, against(send.size(), "the pieces sent", sum(send_bytes)));
  require(receive.size() == sum(receive_bytes), call,
          against(receive.size(), "the pieces received", sum(receive_bytes)));
  const std::size_t me = static_cast<std::size_t>(rank_);
  require(send_bytes[me] == receive_bytes[me], call, "it gives itself another size than it takes");
  run_and_count(call, send.size());
}

void CheckedCommunicator::broadcast(std::span<std::byte> values, int root) {
  CollectiveCall call = collective(CollectiveOp::kBroadcast, values, values);
  call.peer = root;
  require(root >= 0 && root < size_, call, "there is no such rank");
  run_and_count(call, values.size());
}

void CheckedCommunicator::send(std::span<const std::byte> values, int to) {
  CollectiveCall call;
  call.op = CollectiveOp::kSend;
  call.peer = to;
  call.in = values;
  require(to >= 0 && to < size_ && to != rank_, call, "there is no such other rank");
  call.number = ++sends_[static_cast<std::size_t>(to)];
  run_and_count(call, values.size());
}

void CheckedCommunicator::receive(std::span<std::byte> values, int from) {
  CollectiveCall call;
  call.op = CollectiveOp::kReceive;
  call.peer = from;
  call.out = values;
  require(from >= 0 && from < size_ && from != rank_, call, "there is no such other rank");
  call.number = ++receives_[static_cast<std::size_t>(from)];
  run_and_count(call, values.size());
}

void CheckedCommunicator::barrier() { run_and_count(collective(CollectiveOp::kBarrier, {}, {}), 0); }

}  // namespace servetwin
