// Calls meet under the group's mutex: a rank whose deadline passes either finds its call done or takes it
// back, so that nobody ever touches the memory of a rank that has gone on.
#include "kernels/collectives/thread_group.h"

#include <algorithm>
#include <map>
#include <utility>

#include "engine/base/check.h"
#include "kernels/collectives/checked_communicator.h"

namespace servetwin {
namespace {

using Calls = std::vector<const CollectiveCall*>;  // by rank

void all_reduce(const Calls& calls) {
  std::vector<const float*> parts;
  for (const CollectiveCall* call : calls) parts.push_back(floats(call->in));
  const std::span<std::byte> first = calls[0]->out;
  sum_in_rank_order(parts, floats(first));
  for (std::size_t r = 1; r < calls.size(); ++r) copy_bytes(first, calls[r]->out);
}

void reduce_scatter(const Calls& calls) {
  for (std::size_t r = 0; r < calls.size(); ++r) {
    const std::size_t bytes = calls[r]->out.size();
    std::vector<const float*> parts;
    for (const CollectiveCall* call : calls) parts.push_back(floats(call->in.subspan(r * bytes)));
    sum_in_rank_order(parts, floats(calls[r]->out));
  }
}

void all_gather(const Calls& calls) {
  const std::size_t bytes = calls[0]->in.size();
  for (const CollectiveCall* reader : calls) {
    for (std::size_t r = 0; r < calls.size(); ++r) {
      copy_bytes(calls[r]->in, reader->out.subspan(r * bytes, bytes));
    }
  }
}

void all_to_all(const Calls& calls) {
  std::vector<std::size_t> given(calls.size());  // of each rank's `in`, so far
  for (std::size_t reader = 0; reader < calls.size(); ++reader) {
    std::size_t taken = 0;
    for (std::size_t r = 0; r < calls.size(); ++r) {
      const std::size_t bytes = calls[r]->in_bytes[reader];
      copy_bytes(calls[r]->in.subspan(given[r], bytes), calls[reader]->out.subspan(taken, bytes));
      given[r] += bytes;
      taken += bytes;
    }
  }
}

void broadcast(const Calls& calls, std::size_t root) {
  for (std::size_t r = 0; r < calls.size(); ++r) {
    if (r != root) copy_bytes(calls[root]->in, calls[r]->out);
  }
}

void carry_out(const Calls& calls) {
  switch (calls[0]->op) {
    case CollectiveOp::kAllReduce:
      return all_reduce(calls);
    case CollectiveOp::kReduceScatter:
      return reduce_scatter(calls);
    case CollectiveOp::kAllGather:
      return all_gather(calls);
    case CollectiveOp::kAllToAll:
      return all_to_all(calls);
    case CollectiveOp::kBroadcast:
      return broadcast(calls, static_cast<std::size_t>(calls[0]->peer));
    case CollectiveOp::kSend:
    case CollectiveOp::kReceive:
    case CollectiveOp::kBarrier:
      return;
  }
}

}  // namespace

class ThreadRank final : public CheckedCommunicator {
 public:
  ThreadRank(ThreadGroup& group, const std::string& name, int rank)
      : CheckedCommunicator(name, rank, group.size()), group_(group) {}
  ~ThreadRank() override { group_.leave(rank()); }

  std::unique_ptr<Communicator> split(int colour) override {
    run(make_split(colour));
    const ThreadGroup::Seat& seat = group_.seats_[static_cast<std::size_t>(rank())];
    return seat.child->join(seat.rank_in_child);
  }
  void abort(const std::string& reason) override { group_.abort(reason); }

 protected:
  void run(const CollectiveCall& call) override {
    const std::string failure = group_.meet(rank(), call);
    if (!failure.empty()) throw failed(call, failure);
  }

 private:
  ThreadGroup& group_;
};

ThreadGroup::ThreadGroup(int size, std::chrono::milliseconds deadline, std::string name)
    : deadline_(deadline), name_(std::move(name)), seats_(static_cast<std::size_t>(size)) {
  CHECK_INVARIANT(size >= 1, size);
  CHECK_INVARIANT(deadline.count() > 0 && deadline <= std::chrono::hours(24), deadline);
}

ThreadGroup::~ThreadGroup() {
  for (const Seat& seat : seats_) CHECK_INVARIANT(seat.joined == seat.left, name_);
}

std::unique_ptr<Communicator> ThreadGroup::join(int rank) {
  CHECK_INVARIANT(rank >= 0 && rank < size(), rank, size());
  const std::lock_guard lock(mutex_);
  Seat& seat = seats_[static_cast<std::size_t>(rank)];
  CHECK_INVARIANT(!seat.joined, rank, name_);
  auto communicator = std::make_unique<ThreadRank>(*this, name_, rank);
  seat.joined = true;
  return communicator;
}

void ThreadGroup::leave(int rank) {
  const std::lock_guard lock(mutex_);
  seats_[static_cast<std::size_t>(rank)].left = true;
  for (int other = 0; other < size(); ++other) {
    if (is_in(other, rank)) return fail("rank " + std::to_string(rank) + " has left");
  }
}

void ThreadGroup::abort(const std::string& reason) {
  const std::lock_guard lock(mutex_);
  fail(reason);
}

void ThreadGroup::fail(const std::string& reason) {
  if (!failure_.empty()) return;
  failure_ = reason.empty() ? "aborted" : reason;
  for (Seat& seat : seats_) seat.done_or_failed.notify_one();
  for (const auto& child : children_) child->abort("group " + name_ + " has failed: " + failure_);
}

std::vector<int> ThreadGroup::others_in(int rank, const CollectiveCall& call) const {
  if (is_message(call)) return {call.peer};
  std::vector<int> others;
  for (int other = 0; other < size(); ++other) {
    if (other != rank) others.push_back(other);
  }
  return others;
}

bool ThreadGroup::is_in(int other, int rank) const {
  const CollectiveCall* call = seats_[static_cast<std::size_t>(other)].call;
  return call != nullptr && other != rank && (!is_message(*call) || call->peer == rank);
}

std::vector<int> ThreadGroup::missing(int rank, const CollectiveCall& call) const {
  std::vector<int> ranks = others_in(rank, call);
  std::erase_if(ranks, [&](int other) { return is_in(other, rank); });
  return ranks;
}

void ThreadGroup::find_mismatch(int rank, const CollectiveCall& call) {
  for (const int other : others_in(rank, call)) {
    const Seat& seat = seats_[static_cast<std::size_t>(other)];
    if (seat.left) fail("rank " + std::to_string(other) + " has left");
    if (!is_in(other, rank)) continue;
    const CallHeader mine = header_for(call, other);
    const CallHeader theirs = header_for(*seat.call, rank);
    if (!agree(mine, theirs)) fail(describe_mismatch(rank, mine, other, theirs));
  }
}

void ThreadGroup::find_ring(int rank) {
  std::string waits;
  int at = rank;
  do {
    const CollectiveCall* call = seats_[static_cast<std::size_t>(at)].call;
    if (call == nullptr || !is_message(*call)) return;
    waits += (at == rank ? "rank " : ", rank ") + std::to_string(at) + " in " + describe(*call);
    at = call->peer;
  } while (at != rank);
  fail("ranks wait for each other in a ring: " + waits);
}

void ThreadGroup::finish(int rank, const CollectiveCall& call) {
  if (is_message(call)) {
    const CollectiveCall& other = *seats_[static_cast<std::size_t>(call.peer)].call;
    const bool sends = call.op == CollectiveOp::kSend;
    copy_bytes(sends ? call.in : other.in, sends ? other.out : call.out);
  } else {
    Calls calls;
    for (const Seat& seat : seats_) calls.push_back(seat.call);
    calls[static_cast<std::size_t>(rank)] = &call;
    carry_out(calls);
    if (call.colour) make_children(calls);
  }
  for (const int other : others_in(rank, call)) {
    Seat& seat = seats_[static_cast<std::size_t>(other)];
    seat.call = nullptr;
    seat.done_or_failed.notify_one();
  }
}

void ThreadGroup::make_children(const std::vector<const CollectiveCall*>& calls) {
  std::map<int, std::vector<std::size_t>> members;
  for (std::size_t r = 0; r < calls.size(); ++r) members[*calls[r]->colour].push_back(r);
  for (const auto& [colour, ranks] : members) {
    const std::string name = name_ + "/" + std::to_string(colour);
    children_.push_back(std::make_unique<ThreadGroup>(static_cast<int>(ranks.size()), deadline_, name));
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      seats_[ranks[i]].child = children_.back().get();
      seats_[ranks[i]].rank_in_child = static_cast<int>(i);
    }
  }
}

std::string ThreadGroup::late(int rank, const CollectiveCall& call) const {
  const std::vector<int> ranks = missing(rank, call);
  std::string text = "rank " + std::to_string(rank) + " waited " + std::to_string(deadline_.count()) +
                     " ms for " + name_ranks(ranks);
  for (const int other : ranks) {
    const CollectiveCall* theirs = seats_[static_cast<std::size_t>(other)].call;
    if (theirs != nullptr) text += "; rank " + std::to_string(other) + " is in " + describe(*theirs);
  }
  return text;
}

std::string ThreadGroup::meet(int rank, const CollectiveCall& call) {
  std::unique_lock lock(mutex_);
  Seat& seat = seats_[static_cast<std::size_t>(rank)];
  CHECK_INVARIANT(seat.call == nullptr, rank, name_);  // or two threads are one rank
  if (failure_.empty()) find_mismatch(rank, call);
  if (!failure_.empty()) return failure_;
  if (missing(rank, call).empty()) {
    finish(rank, call);
    return {};
  }
  seat.call = &call;
  find_ring(rank);
  const auto end = std::chrono::steady_clock::now() + deadline_;
  const auto over = [&] { return seat.call == nullptr || !failure_.empty(); };
  if (!seat.done_or_failed.wait_until(lock, end, over)) fail(late(rank, call));
  if (seat.call == nullptr) return {};
  seat.call = nullptr;
  return failure_;
}

}  // namespace servetwin
