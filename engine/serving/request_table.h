// Requests in flight by slot. Slots are recycled, so memory grows with requests in flight, not with requests
// served.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/check.h"
#include "engine/base/flat_map.h"
#include "engine/serving/request_state.h"

namespace servetwin {

class RequestTable {
 public:
  // Must come before the request's Arrived. An id may not be in the table twice.
  Slot add(const RequestSpec& spec) {
    Slot slot;
    if (spare_.empty()) {
      slot = static_cast<Slot>(states_.size());
      states_.emplace_back();
    } else {
      slot = spare_.back();
      spare_.pop_back();
    }
    const bool is_new = slot_of_.insert(raw(spec.id), slot).second;
    CHECK_INVARIANT(is_new, raw(spec.id));
    reset(states_[slot], spec);
    return slot;
  }

  // kNoSlot when it ended or never was.
  Slot find(RequestId id) const {
    const Slot* found = slot_of_.find(raw(id));
    return found == nullptr ? kNoSlot : *found;
  }

  RequestState& operator[](Slot slot) { return states_[slot]; }
  const RequestState& operator[](Slot slot) const { return states_[slot]; }

  void remove(Slot slot) {
    slot_of_.erase(raw(states_[slot].spec.id));
    states_[slot].spec.id = kNoRequest;
    spare_.push_back(slot);
  }

  // What is told of a request that ends now. `block_size` is that of its replica, anything if it has none.
  RequestRecord record(Slot slot, Tokens block_size, EndState as, EndReason reason, Time now) const;

  std::size_t size() const { return slot_of_.size(); }
  // Slots ever used at once: an upper bound for walks in reports of a stalled run.
  std::size_t capacity() const { return states_.size(); }

 private:
  static void reset(RequestState& state, const RequestSpec& spec);

  std::vector<RequestState> states_;
  std::vector<Slot> spare_;
  FlatMap<std::uint32_t, Slot> slot_of_;
};

}  // namespace servetwin
