// Process groups whose ranks are processes, carried by MPI.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels/collectives/checked_communicator.h"

namespace servetwin {

class MpiCall;
class MpiTransport;

// Which processes make up a group, and under which tag they talk: no two groups that share a process have the
// same.
struct MpiGroup {
  std::string name;
  int tag = 0;
  std::vector<int> members;  // of all processes, by rank in the group
};

// Every call begins with a word from each rank in it to each other, so that calls that do not fit are found
// before anything is written. Then pieces go straight to who needs them: an all-reduce is a reduce-scatter
// and an all-gather of pieces as equal as can be. Who keeps a piece sums it, in rank order, so the bits are
// those of a group of threads. A send waits for its receive. Failures are told to the group; a rank that
// cannot be told finds out by its deadline, so of a call that fails on one rank others may have had the
// result.
//
// A group is used by one thread at a time, but for abort(); several groups by several threads at once, of
// which one at a time splits.
class MpiCommunicator final : public CheckedCommunicator {
 public:
  std::unique_ptr<Communicator> split(int colour) override;
  void abort(const std::string& reason) override;

  // What this rank has sent in an operation, without the words that begin each call.
  std::int64_t sent_bytes(CollectiveOp op) const;

 protected:
  void run(const CollectiveCall& call) override;

 private:
  friend class MpiProcess;
  friend class MpiCall;

  // `lineage`: the groups that it was split from, from the first, and itself as the last.
  MpiCommunicator(MpiTransport& transport,
                  std::chrono::milliseconds deadline,
                  int rank,
                  std::vector<MpiGroup> lineage);
  // What throws MpiFailure fails the group and throws CollectiveError.
  void attempt(const CollectiveCall& call, const std::function<void(const MpiCall&)>& what);
  const MpiGroup& group() const { return lineage_.back(); }

  MpiTransport& transport_;
  std::chrono::milliseconds deadline_;
  std::vector<MpiGroup> lineage_;
  std::array<std::int64_t, kNumCollectiveOps> sent_bytes_{};
};

// MPI in this process: one object, which outlives all its groups. MPI_Init may wait for other processes, and
// so does MPI_Finalize; no deadline bounds them.
class MpiProcess {
 public:
  // No call of a group may wait longer than `deadline`, at most a day.
  explicit MpiProcess(std::chrono::milliseconds deadline);
  // Finalises, unless a group has failed: a process that is gone would be waited for.
  ~MpiProcess();
  MpiProcess(const MpiProcess&) = delete;
  MpiProcess& operator=(const MpiProcess&) = delete;

  int rank() const;
  int size() const;
  // The group of all processes, given once.
  std::unique_ptr<MpiCommunicator> world(const std::string& name);
  void finalise();
  [[noreturn]] void end_all(int exit_code);  // MPI_Abort: ends all processes, whatever they do

 private:
  std::chrono::milliseconds deadline_;
  std::unique_ptr<MpiTransport> transport_;
};

}  // namespace servetwin
