// Generation first, then the prompts that have begun, then those that may enter, all by one division of what
// is left of the budget.
#include "engine/serving/capacity_scheduler.h"

#include <algorithm>

#include "engine/base/check.h"

namespace servetwin {

CapacityScheduler::CapacityScheduler(ReplicaCore& replica,
                                     CapacityPolicy policy,
                                     const CapacityParams& params)
    : StepBuilder(replica), policy_(policy), params_(params) {
  whole_blocks_ = true;
}

bool CapacityScheduler::build(Time now) {
  open(now);
  set_aside_.clear();
  contexts_.clear();
  looked_at_.clear();
  std::optional<HeldReason> refusal = HeldReason::kPaused;
  if (!r_.paused) {
    generate();
    refusal = preempted_ ? HeldReason::kPreempted : collect_waiting();
    const std::optional<HeldReason> left_out = run_contexts();
    if (!refusal.has_value()) refusal = left_out;
  }
  count_waiting(refusal);
  return close();
}

// Decoders, by the order of the waiting if it has one of its own: whoever is first in it takes its block
// first.
void CapacityScheduler::generate() {
  std::vector<Slot> order = r_.running;
  if (r_.rules.waiting_order->by_place()) {
    schedule_running(Part::kDecoders);
  } else {
    std::sort(order.begin(), order.end(), [this](Slot a, Slot b) {
      const WaitingView first{&table_[a].spec, table_[a].admission};
      const WaitingView second{&table_[b].spec, table_[b].admission};
      return r_.rules.waiting_order->before(first, second);
    });
    bool stopped = false;
    for (const Slot slot : order) {
      const auto found = std::find(r_.running.begin(), r_.running.end(), slot);
      if (found == r_.running.end() || !table_[slot].decoding) continue;
      auto index = static_cast<std::size_t>(found - r_.running.begin());
      if (stopped || budget_ == 0) {
        hold(slot, stopped ? HeldReason::kKvAllocation : HeldReason::kTokenBudget);
      } else {
        stopped = !schedule_one(index);
      }
    }
  }
  for (const Slot slot : order) {
    const RequestState& state = table_[slot];
    if (state.phase != Phase::kRunning || state.decoding) continue;
    const std::optional<HeldReason> reason = cannot_run(state);
    if (reason.has_value()) {
      hold(slot, *reason);
    } else {
      contexts_.push_back({slot, state.known() - state.computed});
    }
  }
}

std::int64_t CapacityScheduler::blocks_to_end(const RequestState& state) const {
  return ceil_div(state.spec.prompt.value + state.limit, r_.config.block_size.value);
}

// Those that may enter join contexts_; why the scan ended, or nothing.
std::optional<HeldReason> CapacityScheduler::collect_waiting() {
  adapters_.clear();
  left_ = r_.kv().free().value;
  for (const Slot slot : r_.running) {
    if (table_[slot].spec.adapter != kNoAdapter) adapters_.insert(table_[slot].spec.adapter);
    if (policy_ != CapacityPolicy::kMaxUtilization) left_ -= blocks_to_end(table_[slot]) - table_[slot].held;
  }
  if (policy_ == CapacityPolicy::kStaticBatch && !r_.running.empty()) return HeldReason::kPhase;
  std::int64_t entering = 0;
  for (WaitingQueue* queue = next_queue(); queue != nullptr; queue = next_queue()) {
    const Slot slot = queue->head();
    const RequestState& state = table_[slot];
    if (!state.blocked_as.has_value()) {
      if (r_.num_running() + entering == r_.config.max_num_seqs) return HeldReason::kSeqsCap;
      note_head(slot);
      if (adapter_fits(state)) {
        const std::optional<HeldReason> refusal = cannot_enter(slot);
        if (refusal.has_value()) return refusal;
        ++entering;
      } else if (policy_ == CapacityPolicy::kMaxUtilization) {
        return HeldReason::kBlocked;
      }
    }
    queue->pop();
    looked_at_.push_back(slot);
  }
  return std::nullopt;
}

bool CapacityScheduler::adapter_fits(const RequestState& state) const {
  const AdapterId adapter = state.spec.adapter;
  if (params_.adapters == 0 || adapter == kNoAdapter || adapters_.count(adapter) > 0) return true;
  return static_cast<std::int64_t>(adapters_.size()) < params_.adapters;
}

// Takes its blocks from left_, if they are there. A cached block that lies in the free queue counts as
// needed.
std::optional<HeldReason> CapacityScheduler::cannot_enter(Slot slot) {
  RequestState& state = table_[slot];
  const std::int64_t size = r_.config.block_size.value;
  const std::int64_t hit = look_up(state);
  const std::int64_t in_use = hit / size - r_.kv().free_blocks_in(hits_);
  const bool to_end = policy_ != CapacityPolicy::kMaxUtilization;
  const std::int64_t need = (to_end ? blocks_to_end(state) : ceil_div(state.known(), size)) - in_use;
  if (need > left_) {
    r_.kv_refused = true;
    return HeldReason::kKvGate;
  }
  left_ -= need;
  if (state.spec.adapter != kNoAdapter) adapters_.insert(state.spec.adapter);
  contexts_.push_back({slot, state.known() - entry_context(state, hit)});
  return std::nullopt;
}

// Tokens for each of contexts_. Where prompts go in whole, only one that is alone may be cut, being longer
// than a step: one that comes back after a preemption can be.
std::vector<std::int64_t> CapacityScheduler::divide() const {
  std::vector<std::int64_t> rests;
  for (const Context& context : contexts_) rests.push_back(context.rest);
  const std::int64_t most = r_.config.max_num_batched_tokens.value;
  if (r_.config.chunked_prefill)
    return divide_context(rests, budget_, std::min(params_.chunk_unit.value, most), params_.chunking);
  std::int64_t budget = budget_;
  for (std::int64_t& rest : rests) {
    if (rest > budget) rest = budget == most ? budget : 0;
    budget = rest == 0 ? 0 : budget - rest;
  }
  return rests;
}

// Why some of those looked at did not enter, or nothing.
std::optional<HeldReason> CapacityScheduler::run_contexts() {
  const std::vector<std::int64_t> chunks = divide();
  std::optional<HeldReason> left_out;
  auto looked_at = looked_at_.begin();
  for (std::size_t i = 0; i < contexts_.size(); ++i) {
    const Slot slot = contexts_[i].slot;
    RequestState& state = table_[slot];
    if (state.phase == Phase::kRunning) {
      const auto found = std::find(r_.running.begin(), r_.running.end(), slot);
      auto index = static_cast<std::size_t>(found - r_.running.begin());
      if (chunks[i] > 0) schedule_tokens(index, chunks[i]);
      if (chunks[i] == 0) hold(slot, HeldReason::kTokenBudget);
      continue;
    }
    for (; *looked_at != slot; ++looked_at) left_out = set_aside(*looked_at, left_out);
    ++looked_at;
    if (chunks[i] == 0) {
      set_aside_.push_back(slot);
      left_out = HeldReason::kTokenBudget;
    } else {
      const std::int64_t hit = look_up(state);
      admit(slot, hit, std::min(chunks[i], state.known() - entry_context(state, hit)));
    }
  }
  for (; looked_at != looked_at_.end(); ++looked_at) left_out = set_aside(*looked_at, left_out);
  return left_out;
}

// Blocked, or without an adapter.
std::optional<HeldReason> CapacityScheduler::set_aside(Slot slot, std::optional<HeldReason> left_out) {
  set_aside_.push_back(slot);
  return table_[slot].blocked_as.has_value() || left_out.has_value() ? left_out : HeldReason::kBlocked;
}

}  // namespace servetwin
