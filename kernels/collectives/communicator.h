// One rank's side of a process group: the collectives that a model split over ranks needs, whatever carries
// them.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>

namespace servetwin {

enum class CollectiveOp : std::uint8_t {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kAllToAll,
  kBroadcast,
  kSend,
  kReceive,
  kBarrier,
};
inline constexpr std::size_t kNumCollectiveOps = 8;
// The field's name of it, for example "all-reduce".
const char* to_string(CollectiveOp op);

// A peer did not come, left, or called something else: no rank of the group can go on. The text names the
// group, this rank, the operation and, where it is known, the peer that is missing.
class CollectiveError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// What one rank did: calls, and bytes of the message as its caller gave it.
struct CollectiveCount {
  std::int64_t calls = 0;
  std::int64_t bytes = 0;
  bool operator==(const CollectiveCount&) const = default;
};

// Every rank of the group calls the same operations in the same order with the same sizes. All of them block,
// and throw CollectiveError when the deadline passes first or another rank has called abort(). Sums are taken
// in rank order, ((r0 + r1) + r2) + …, so that every rank gets the same bits however they arrive and whatever
// carries them.
class Communicator {
 public:
  virtual ~Communicator() = default;
  Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  virtual int rank() const = 0;  // in this group, from 0
  virtual int size() const = 0;

  // Each element becomes the sum of that element over all ranks.
  virtual void all_reduce(std::span<float> values) = 0;
  // `all` holds size() pieces as long as `mine`, in rank order.
  virtual void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) = 0;
  // `values` holds size() pieces as long as `mine`; this rank gets the sum of those at its place.
  virtual void reduce_scatter(std::span<const float> values, std::span<float> mine) = 0;
  // Piece r of `send`, `send_bytes[r]` long, goes to rank r; what came from rank r is piece r of `receive`,
  // `receive_bytes[r]` long. Sizes may differ by pair and be 0 (all-to-all-v).
  virtual void all_to_all(std::span<const std::byte> send,
                          std::span<const std::size_t> send_bytes,
                          std::span<std::byte> receive,
                          std::span<const std::size_t> receive_bytes) = 0;
  virtual void broadcast(std::span<std::byte> values, int root) = 0;
  // Returns when `values` may be written again; matched with the receives of that pair in order.
  virtual void send(std::span<const std::byte> values, int to) = 0;
  virtual void receive(std::span<std::byte> values, int from) = 0;
  virtual void barrier() = 0;

  // Called by all ranks: those of one colour make a group, ranked by their rank here.
  virtual std::unique_ptr<Communicator> split(int colour) = 0;
  // Every rank that waits, or will, gets CollectiveError with this reason. Thread-safe; may be called twice.
  virtual void abort(const std::string& reason) = 0;

  virtual CollectiveCount count(CollectiveOp op) const = 0;
};

}  // namespace servetwin
