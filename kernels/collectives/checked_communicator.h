// What every implementation shares: arguments are checked, calls are numbered and counted, errors are worded.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/collectives/collective_call.h"
#include "kernels/collectives/communicator.h"

namespace servetwin {

// Bytes are counted once a call has succeeded: what this rank gave (of an all-gather its own piece, of an
// all-to-all all it gives, of a broadcast and of a receive the message). Splits are not counted.
class CheckedCommunicator : public Communicator {
 public:
  int rank() const final { return rank_; }
  int size() const final { return size_; }
  void all_reduce(std::span<float> values) final;
  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) final;
  void reduce_scatter(std::span<const float> values, std::span<float> mine) final;
  void all_to_all(std::span<const std::byte> send,
                  std::span<const std::size_t> send_bytes,
                  std::span<std::byte> receive,
                  std::span<const std::size_t> receive_bytes) final;
  void broadcast(std::span<std::byte> values, int root) final;
  void send(std::span<const std::byte> values, int to) final;
  void receive(std::span<std::byte> values, int from) final;
  void barrier() final;
  CollectiveCount count(CollectiveOp op) const final;
  const std::string& name() const { return name_; }

 protected:
  CheckedCommunicator(std::string name, int rank, int size);
  // Does it, or throws what failed() gives. Its arguments are sound for this rank.
  virtual void run(const CollectiveCall& call) = 0;
  CollectiveCall make_split(int colour);
  // "group world, rank 1 of 4, all-reduce 3 of 16384 bytes: ".
  CollectiveError failed(const CollectiveCall& call, const std::string& reason) const;

 private:
  CollectiveCall collective(CollectiveOp op, std::span<const std::byte> in, std::span<std::byte> out);
  // Aborts the group and throws, unless `sound`: the others could only wait for this rank.
  void require(bool sound, const CollectiveCall& call, const std::string& problem);
  void run_and_count(const CollectiveCall& call, std::size_t bytes);

  std::string name_;
  int rank_;
  int size_;
  std::int64_t collectives_ = 0;
  std::vector<std::int64_t> sends_;  // by rank
  std::vector<std::int64_t> receives_;
  std::array<CollectiveCount, kNumCollectiveOps> counts_{};
};

}  // namespace servetwin
