// Requests waiting for admission, in the order of a rule.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <set>
#include <vector>

#include "engine/serving/request_table.h"
#include "engine/serving/rules.h"

namespace servetwin {

// What an order sees of a request. `rest` leaves nothing out that the prefix cache might hold.
WaitingView view_of(const RequestState& state, std::int64_t place, Time now);

class WaitingQueue {
 public:
  WaitingQueue(RequestTable& table, const WaitingOrder& order);
  WaitingQueue(const WaitingQueue&) = delete;
  WaitingQueue& operator=(const WaitingQueue&) = delete;

  bool empty() const { return size_ == 0; }
  std::int64_t size() const { return size_; }

  // Joins at the end (new) or, for rules that keep places, at the front (preempted, set aside).
  void push_back(Slot slot, RequestState& state);
  void push_front(Slot slot, RequestState& state);
  // For changing orders, before a plan looks at the head: what is seen of everyone is taken anew. `hit` says
  // what the prefix cache holds of a request and may be empty.
  void look(Time now, const std::function<std::int64_t(RequestState&)>& hit);
  // The first request that still waits; kNoSlot when there is none.
  Slot head();
  // What the order sees of the head, which there is.
  WaitingView head_view();
  // The head leaves to be admitted.
  void pop();
  // A waiting request goes away; to be called while it still counts as waiting.
  void remove(Slot slot, const RequestState& state);

 private:
  enum class Kind : std::uint8_t { kPlaces, kSorted, kChanging };
  struct Entry {
    Slot slot;
    RequestId id;
    std::int64_t place;
  };
  struct Seen {
    Entry entry;
    WaitingView view;
  };
  struct Before {
    const WaitingQueue* queue;
    bool operator()(const Entry& a, const Entry& b) const;
  };

  void insert(const Entry& entry);
  std::size_t first_seen();
  bool alive(const Entry& entry) const;

  RequestTable& table_;
  const WaitingOrder& order_;
  Kind kind_ = Kind::kSorted;
  std::deque<Entry> by_place_;  // orders by place: entries whose request went away are skipped at the front
  std::set<Entry, Before> sorted_;  // orders over immutable data
  std::vector<Seen> seen_;          // changing orders
  Time now_ = kTimeZero;            // of the last look
  std::int64_t size_ = 0;
  std::int64_t front_place_ = 0;
  std::int64_t back_place_ = 0;
};

}  // namespace servetwin
