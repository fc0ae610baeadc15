// Sift up and down by moving a hole, so each event is copied once a level.
#include "sim/core/event_queue.h"

#include <algorithm>

#include "engine/base/check.h"

namespace servetwin {

void EventQueue::push(const StampedEvent& event) {
  std::size_t hole = heap_.size();
  heap_.push_back(event);
  while (hole > 0) {
    const std::size_t parent = (hole - 1) / kArity;
    if (!(event < heap_[parent])) break;
    heap_[hole] = heap_[parent];
    hole = parent;
  }
  heap_[hole] = event;
}

StampedEvent EventQueue::pop() {
  CHECK_INVARIANT(!heap_.empty(), heap_.size());
  const StampedEvent result = heap_.front();
  const StampedEvent last = heap_.back();
  heap_.pop_back();
  if (heap_.empty()) return result;
  std::size_t hole = 0;
  while (true) {
    const std::size_t first = hole * kArity + 1;
    if (first >= heap_.size()) break;
    std::size_t best = first;
    const std::size_t end = std::min(first + kArity, heap_.size());
    for (std::size_t child = first + 1; child < end; ++child) {
      if (heap_[child] < heap_[best]) best = child;
    }
    if (!(heap_[best] < last)) break;
    heap_[hole] = heap_[best];
    hole = best;
  }
  heap_[hole] = last;
  return result;
}

}  // namespace servetwin
