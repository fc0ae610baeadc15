// Decoders that advance together, one token a step, without being touched: their progress is derived from a
// step clock, their sums are kept, and their next needs stand in tables. Exactly what a loop over them would
// give.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "engine/serving/kv_group.h"
#include "engine/serving/request_table.h"

namespace servetwin {

class DecodePool {
 public:
  DecodePool(RequestTable& table, Tokens block_size);

  std::int64_t size() const { return static_cast<std::int64_t>(members_.size()); }
  const std::vector<Slot>& members() const { return members_; }  // in no order that may matter
  std::int64_t context_sum() const { return context_sum_; }      // tokens computed, over all members
  std::int64_t max_context();                                    // longest of them
  // Blocks that the members' next step needs.
  std::int64_t demand() const { return phase_[clock_ % phase_.size()]; }
  // Members per stat group.
  const std::array<std::int64_t, kMaxStatGroups>& groups() const { return groups_; }

  // A request whose next step is one token joins, between two steps.
  void park(Slot slot);
  // Leaves, with computed, outputs and held blocks brought up to date; its growth is given to its owner in
  // `kv`. `in_flight`: a step that includes it was planned and has not come back.
  void unpark(Slot slot, bool in_flight, KvGroup& kv);
  // Brings a member up to date without leaving, between two steps.
  void refresh(Slot slot, KvGroup& kv);
  // All members advance by one token: a step was planned.
  void tick() {
    ++clock_;
    context_sum_ += size();
    if (max_context_ > 0) ++max_context_;
  }

  // Whether some member may reach its length limit with the step planned last; false is certain.
  bool may_end() const { return ring_[(clock_ - 1) % kRing] != kNoSlot; }
  // Those who do, in no stated order.
  void ending(std::vector<Slot>& out) const;

 private:
  static constexpr std::size_t kRing = 1024;

  // The step after which a member has all its outputs; steps are numbered by the clock before their tick.
  std::uint64_t last_step(const RequestState& state) const;
  void ring_insert(Slot slot, RequestState& state);
  void ring_remove(const RequestState& state, Slot slot);
  std::int64_t& phase_of(const RequestState& state);

  RequestTable& table_;
  std::int64_t block_size_;
  std::uint64_t clock_;
  std::int64_t context_sum_ = 0;
  std::int64_t max_context_ = 0;  // 0: must be looked up again
  std::vector<Slot> members_;
  std::vector<std::int64_t> phase_;  // members that need a block when clock % block_size is the index
  std::array<std::int64_t, kMaxStatGroups> groups_{};
  std::vector<Slot> ring_;  // by step of the length end, modulo its size
};

}  // namespace servetwin
