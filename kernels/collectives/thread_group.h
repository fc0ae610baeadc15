// A process group whose ranks are threads of this process.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "kernels/collectives/collective_call.h"
#include "kernels/collectives/communicator.h"

namespace servetwin {

// Ranks lend each other their memory: whoever comes last to a call does it for all, and the others sleep till
// then. So nothing is sent, and one copy a reader is all that moves.
//
// A send waits for its receive. Besides the deadline three things end a wait that cannot end well, at once:
// two ranks wait for each other in calls that do not fit together, sends and receives wait in a ring, or a
// rank has left. A failed group stays failed, and with it those split from it.
class ThreadGroup {
 public:
  // No call may wait longer than `deadline`, at most a day.
  ThreadGroup(int size, std::chrono::milliseconds deadline, std::string name);
  // All communicators of the group, and of those split from it, are gone by then.
  ~ThreadGroup();
  ThreadGroup(const ThreadGroup&) = delete;
  ThreadGroup& operator=(const ThreadGroup&) = delete;

  int size() const { return static_cast<int>(seats_.size()); }
  // The communicator of `rank`, given once. One thread at a time calls it, but for abort(); when it is
  // destroyed the rank has left the group.
  std::unique_ptr<Communicator> join(int rank);
  void abort(const std::string& reason);

 private:
  friend class ThreadRank;

  struct Seat {
    bool joined = false;
    bool left = false;
    const CollectiveCall* call = nullptr;  // what this rank waits in
    std::condition_variable done_or_failed;
    ThreadGroup* child = nullptr;  // where the last split put this rank
    int rank_in_child = 0;
  };

  // Returns when the call is done, or why it never will be.
  std::string meet(int rank, const CollectiveCall& call);
  void leave(int rank);

  // The caller of these holds the mutex.
  void fail(const std::string& reason);
  std::vector<int> others_in(int rank, const CollectiveCall& call) const;
  bool is_in(int other, int rank) const;  // waits in a call that needs `rank`
  std::vector<int> missing(int rank, const CollectiveCall& call) const;
  void find_mismatch(int rank, const CollectiveCall& call);
  void find_ring(int rank);
  void finish(int rank, const CollectiveCall& call);
  void make_children(const std::vector<const CollectiveCall*>& calls);
  std::string late(int rank, const CollectiveCall& call) const;

  std::chrono::milliseconds deadline_;
  std::string name_;
  std::mutex mutex_;
  std::vector<Seat> seats_;  // by rank
  std::string failure_;      // why no call will succeed any more
  std::vector<std::unique_ptr<ThreadGroup>> children_;
};

}  // namespace servetwin
