// Requests waiting for admission, in the order of a rule.
#pragma once

#include <cstdint>
#include <deque>
#include <set>

#include "engine/serving/request_table.h"
#include "engine/serving/rules.h"

namespace servetwin {

class WaitingQueue {
 public:
  WaitingQueue(const RequestTable& table, const WaitingOrder& order)
      : table_(table), order_(order), sorted_(Before{this}) {}
  WaitingQueue(const WaitingQueue&) = delete;
  WaitingQueue& operator=(const WaitingQueue&) = delete;

  bool empty() const { return size_ == 0; }
  std::int64_t size() const { return size_; }

  // Joins at the end (new) or, for rules that keep places, at the front (preempted, set aside).
  void push_back(Slot slot, RequestState& state);
  void push_front(Slot slot, RequestState& state);
  // The first request that still waits; kNoSlot when there is none.
  Slot head();
  // The head leaves to be admitted.
  void pop();
  // A waiting request goes away; to be called while it still counts as waiting.
  void remove(Slot slot, const RequestState& state);

 private:
  struct Entry {
    Slot slot;
    RequestId id;
    std::int64_t place;
  };
  struct Before {
    const WaitingQueue* queue;
    bool operator()(const Entry& a, const Entry& b) const;
  };

  void insert(const Entry& entry);
  bool alive(const Entry& entry) const;

  const RequestTable& table_;
  const WaitingOrder& order_;
  std::deque<Entry> by_place_;  // orders by place: entries whose request went away are skipped at the front
  std::set<Entry, Before> sorted_;  // all other orders
  std::int64_t size_ = 0;
  std::int64_t front_place_ = 0;
  std::int64_t back_place_ = 0;
};

}  // namespace servetwin
