// The little of MPI that collectives need, without its header: messages between processes, begun together and
// asked after without waiting.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace servetwin {

// What MPI itself reports.
class MpiFailure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct MpiRequests;  // messages on their way, and their memory

// MPI for this process, from MPI_Init to MPI_Finalize. Thread-safe; ranks are those of all processes.
class MpiTransport {
 public:
  MpiTransport();
  ~MpiTransport();
  MpiTransport(const MpiTransport&) = delete;
  MpiTransport& operator=(const MpiTransport&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  void finalise();
  [[noreturn]] void end_all(int exit_code);

  // The least tag that no group of this process has or had. A group is being made until end_group(), with the
  // tag that its processes agreed on, or 0: one at a time, or two could agree on the same.
  int begin_group();
  void end_group(int tag);

  // A group is a tag. It failed when this process or another said so; empty: it did not.
  std::string failure_of(int tag);
  // Notes it here and tells `members`, as far as they can be reached. The first reason stays.
  void fail(int tag, const std::string& reason, const std::vector<int>& members);
  bool has_failures();

 private:
  friend class MpiExchange;

  void take_notes();  // the caller holds the mutex
  void note(int tag, const std::string& reason);

  std::mutex mutex_;  // one thread at a time is in MPI
  int rank_ = 0;
  int size_ = 1;
  int next_tag_ = 1;
  bool makes_group_ = false;
  std::map<int, std::string> failures_;
  // Never given back: a message that was given up may still arrive.
  std::deque<std::unique_ptr<MpiRequests>> given_up_;
};

// Some messages of one group, begun as they are added. What is sent is copied, what is received lies here, so
// that giving up in the middle leaves no memory of the caller's in MPI's hands.
class MpiExchange {
 public:
  MpiExchange(MpiTransport& transport, int tag);
  ~MpiExchange();
  MpiExchange(const MpiExchange&) = delete;
  MpiExchange& operator=(const MpiExchange&) = delete;

  void send(int rank, std::span<const std::byte> bytes);
  // Where it will be once done() has said so.
  std::span<const std::byte> receive(int rank, std::size_t bytes);
  bool done();
  // Whose messages have not been sent or received.
  std::vector<int> missing() const;

 private:
  // Sends `given`, or receives where it is empty.
  std::span<const std::byte> start(int rank, std::span<const std::byte> given, std::size_t bytes);

  MpiTransport& transport_;
  int tag_;
  std::unique_ptr<MpiRequests> requests_;
};

}  // namespace servetwin
