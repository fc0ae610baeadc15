// Slots are given to the waiting in order; what a slot holds of a prompt is not computed again.
#include "engine/serving/slot_builder.h"

#include <algorithm>

namespace servetwin {
namespace {

// Tokens that the prompt and the first `held` tokens of what the other request computed have in common.
std::int64_t common_prefix(const RequestSpec& prompt, const RequestSpec& other, std::int64_t held) {
  std::int64_t common = 0;
  const std::size_t count = std::min(prompt.content.size(), other.content.size());
  for (std::size_t i = 0; i < count; ++i) {
    const ContentSegment& mine = prompt.content[i];
    const ContentSegment& theirs = other.content[i];
    if (mine.stream != theirs.stream) break;
    const bool grows = other.continues_content && i + 1 == other.content.size();
    const std::int64_t length = grows ? held : theirs.length.value;
    common += std::min(mine.length.value, length);
    if (mine.length.value != length) break;
  }
  return std::min(common, held);
}

}  // namespace

SlotBuilder::SlotBuilder(ReplicaCore& replica, const SlotParams& params)
    : StepBuilder(replica), params_(params) {
  const Blocks context = blocks_for(r_.config.max_model_len, r_.config.block_size);
  const std::int64_t fit = r_.kv().usable().value / context.value;
  places_.resize(static_cast<std::size_t>(std::clamp<std::int64_t>(fit, 1, r_.config.max_num_seqs)));
}

bool SlotBuilder::build(Time now) {
  open(now);
  set_aside_.clear();
  looked_at_.clear();
  free_places();
  std::optional<HeldReason> refusal = HeldReason::kPaused;
  if (!r_.paused) {
    refusal = assign();
    generate();
    const bool short_of_tokens = run_prompts();
    if (preempted_) {
      refusal = HeldReason::kPreempted;
      r_.kv_refused = false;
    }
    if (short_of_tokens && !refusal.has_value()) refusal = HeldReason::kTokenBudget;
  }
  for (const Slot slot : looked_at_) {
    if (table_[slot].phase == Phase::kWaiting) set_aside_.push_back(slot);
  }
  for (Place& place : places_) {
    if (place.busy && table_[place.slot].phase == Phase::kRunning) place.held = table_[place.slot].computed;
  }
  count_waiting(refusal);
  return close();
}

void SlotBuilder::free_places() {
  ++plans_;
  for (Place& place : places_) {
    const bool left = place.busy && table_[place.slot].spec.id != place.text.id;
    if (!left) continue;
    place.busy = false;
    place.last_used = plans_;
  }
}

// A slot for each that waits, as long as one is idle; why the scan ended, or nothing.
std::optional<HeldReason> SlotBuilder::assign() {
  for (WaitingQueue* queue = next_queue(); queue != nullptr; queue = next_queue()) {
    const Slot slot = queue->head();
    const RequestState& state = table_[slot];
    if (!state.blocked_as.has_value()) {
      note_head(slot);
      if (blocks_for(Tokens{state.known()}, r_.config.block_size) > r_.kv().usable()) {
        r_.kv_refused = true;
        return HeldReason::kKvGate;  // it grew past the pool
      }
      // Fewer slots than requests may run are all that the pool has contexts for.
      const bool capped = static_cast<std::int64_t>(places_.size()) == r_.config.max_num_seqs;
      if (!take_place(slot)) return capped ? HeldReason::kSeqsCap : HeldReason::kKvGate;
    }
    queue->pop();
    looked_at_.push_back(slot);
  }
  return std::nullopt;
}

// False when all are busy.
bool SlotBuilder::take_place(Slot slot) {
  const RequestSpec& spec = table_[slot].spec;
  for (const Place& place : places_) {
    if (place.busy && place.text.id == spec.id) return true;
  }
  Place* const chosen = idle_place(spec);
  if (chosen == nullptr) return false;
  chosen->held = common_prefix(spec, chosen->text, chosen->held);
  chosen->busy = true;
  chosen->slot = slot;
  chosen->text = spec;
  return true;
}

// The most similar one, the first of equals; if none is similar enough the least recently used, the last of
// equals. Null when all are busy.
SlotBuilder::Place* SlotBuilder::idle_place(const RequestSpec& spec) {
  Place* similar = nullptr;
  Place* oldest = nullptr;
  double best = params_.similarity;
  for (Place& place : places_) {
    if (place.busy) continue;
    if (oldest == nullptr || place.last_used <= oldest->last_used) oldest = &place;
    const auto common = static_cast<double>(common_prefix(spec, place.text, place.held));
    const double share = common / static_cast<double>(spec.prompt.value);
    if (share <= best) continue;
    best = share;
    similar = &place;
  }
  return similar != nullptr ? similar : oldest;
}

void SlotBuilder::generate() {
  for (const Place& place : places_) {
    if (!place.busy || !table_[place.slot].decoding) continue;
    if (budget_ == 0) hold(place.slot, HeldReason::kTokenBudget);
    std::size_t index = index_of(place.slot);
    if (budget_ > 0) schedule_one(index);
  }
}

// Whether some got no token.
bool SlotBuilder::run_prompts() {
  bool short_of_tokens = false;
  for (const Place& place : places_) {
    if (!place.busy || table_[place.slot].spec.id != place.text.id) continue;
    RequestState& state = table_[place.slot];
    const bool waits = state.phase == Phase::kWaiting;
    const bool looked_at = std::count(looked_at_.begin(), looked_at_.end(), place.slot) > 0;
    if (state.decoding || preempted_ || (waits && (state.blocked_as || !looked_at))) continue;
    if (budget_ == 0) {
      short_of_tokens = true;
      if (state.phase == Phase::kRunning) hold(place.slot, HeldReason::kTokenBudget);
    } else if (state.phase == Phase::kRunning) {
      std::size_t index = index_of(place.slot);
      schedule_one(index);
    } else {
      enter(place);
    }
  }
  return short_of_tokens;
}

// What the slot still holds of its text is all it need not compute, whatever else is cached.
void SlotBuilder::enter(const Place& place) {
  RequestState& state = table_[place.slot];
  const std::int64_t size = r_.config.block_size.value;
  look_up(state);
  const auto most = static_cast<std::int32_t>(place.held / size);
  while (!hits_.empty() && hits_.back().first >= most) hits_.pop_back();
  if (!hits_.empty()) hits_.back().end = std::min(hits_.back().end, most);
  const std::int64_t hit = hits_.empty() ? 0 : hits_.back().end * size;
  admit(place.slot, hit, std::min(state.known() - entry_context(state, hit), budget_));
}

std::size_t SlotBuilder::index_of(Slot slot) const {
  const auto found = std::find(r_.running.begin(), r_.running.end(), slot);
  return static_cast<std::size_t>(found - r_.running.begin());
}

}  // namespace servetwin
