// Pending events in their total order: a 4-ary heap of values, no virtual call, no allocation once warm.
#pragma once

#include <cstddef>
#include <vector>

#include "engine/serving/event.h"

namespace servetwin {

// Pops by (time, kind, subject, nth). Two events with one key are told apart by nth, which the caller sets.
class EventQueue {
 public:
  bool empty() const { return heap_.empty(); }
  std::size_t size() const { return heap_.size(); }
  const StampedEvent& top() const { return heap_.front(); }
  void push(const StampedEvent& event);
  StampedEvent pop();

 private:
  static constexpr std::size_t kArity = 4;

  std::vector<StampedEvent> heap_;
};

}  // namespace servetwin
