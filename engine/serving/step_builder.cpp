// The running half of a step: decoders and chunks. The other parts are in admission.cpp and preemption.cpp.
#include "engine/serving/step_builder.h"

#include <algorithm>

#include "engine/base/check.h"
#include "engine/serving/step_record.h"

namespace servetwin {

bool StepBuilder::build(Time now) {
  open(now);
  if (composition_ == Composition::kPrefillAlone) {
    prefill_alone();
    return close();
  }
  if (!r_.paused) {
    if (r_.yields) yield_to_waiting();
    if (r_.shortcut_allowed() && pooled_step_fits()) {
      pooled_decode();
      publish_shared_growth();
    } else {
      unpark_all();
    }
    if (composition_ == Composition::kDecodesFirst) {
      schedule_running(Part::kDecoders);
      schedule_running(Part::kPrompts);
    } else {
      schedule_running(Part::kAll);
    }
  }
  admit_waiting();
  return close();
}

void StepBuilder::repeat_decode(Time now) {
  StepPlan& plan = r_.plan;
  plan.time = now;
  plan.entries.clear();
  r_.words.clear();
  DecodePool& pool = r_.pool;
  const std::int64_t blocks = pool.demand();
  if (blocks > 0) {
    r_.kv().take(blocks);
    r_.held_sum += blocks;
    record_growth(r_.words, r_.kv());
    plan.used_blocks += Blocks{blocks};
    plan.free_blocks -= Blocks{blocks};
  }
  plan.shape.max_context = pool.max_context() + 1;
  pool.tick();
  plan.shape.decode_context = pool.context_sum();
  if (r_.kv_refused) r_.head_of_line += now - r_.last_plan;
  r_.last_plan = now;
  plan.step = r_.last_step = next(r_.last_step);
  record_step();
}

void StepBuilder::open(Time now) {
  StepPlan& plan = r_.plan;
  plan.time = now;
  plan.entries.clear();
  plan.swap_outs.clear();
  plan.rows.clear();
  plan.held.fill(0);
  plan.shape = StepShape{};
  plan.shape.window = r_.config.priced_window.value;
  r_.words.clear();
  r_.plan_pooled = false;
  r_.steady = false;
  if (r_.kv_refused) r_.head_of_line += now - r_.last_plan;
  r_.last_plan = now;
  r_.kv_refused = false;
  budget_ = r_.config.max_num_batched_tokens.value;
  preempted_ = false;
  longest_ = Tokens{0};
  promised_now_ = 0;
  if (r_.num_running() == 0) note_pressure();
  holds_.clear();
  victims_.clear();
  if (r_.changing_order) look_at_waiting();
}

// Puts the record into the digests and tells the observers. An empty plan is told too: what is held, and why,
// holds.
bool StepBuilder::close() {
  StepPlan& plan = r_.plan;
  record_growth(r_.words, r_.kv());
  const bool runs = plan.shape.tokens > 0;
  CHECK_INVARIANT(plan.shape.tokens <= r_.config.max_num_batched_tokens.value, plan.shape.tokens);
  CHECK_INVARIANT(r_.num_running() <= r_.config.max_num_seqs, r_.num_running());
  if (plan.shape.prefill_sequences > 0) ++prompt_steps_;
  if (runs) r_.last_step = next(r_.last_step);
  plan.step = r_.last_step;
  plan.running = r_.num_running();
  plan.waiting = r_.num_waiting();
  plan.used_blocks = r_.kv().used();
  plan.free_blocks = r_.kv().free();
  plan.all_rows = r_.pool.size() == 0 || !r_.plan_pooled;
  for (const std::int64_t size : r_.config.graph_sizes) {
    if (size < plan.shape.tokens) continue;
    plan.shape.graph_size = size;
    break;
  }
  if (runs || !r_.words.empty()) record_step();
  for (RuleListener* listener : r_.listeners) {
    for (const StepRow& row : plan.rows) listener->on_scheduled(table_[row.slot].spec, row.tokens, plan.time);
  }
  for (Observer* observer : r_.observers) observer->on_plan(plan);
  return runs;
}

// Works on copies, which stay in registers.
void StepBuilder::record_step() {
  const StepPlan& plan = r_.plan;
  Digest decisions = r_.decisions;
  Digest timeline = r_.timeline;
  decisions.add(raw(plan.step));
  decisions.add_signed(plan.shape.decode_sequences);
  decisions.add_signed(plan.shape.decode_context);
  decisions.add(r_.words.size());
  for (const std::uint64_t word : r_.words) decisions.add(word);
  timeline.add_signed(to_ns(plan.time));
  timeline.add(decisions.value());
  r_.decisions = decisions;
  r_.timeline = timeline;
}

// Every member of the pool advances by one token.
void StepBuilder::pooled_decode() {
  DecodePool& pool = r_.pool;
  const std::int64_t members = pool.size();
  r_.plan_pooled = true;
  if (members == 0) return;
  const std::int64_t blocks = pool.demand();
  if (blocks > 0) r_.kv().take(blocks);
  r_.held_sum += blocks;
  StepShape& shape = r_.plan.shape;
  shape.tokens = shape.sequences = shape.decode_sequences = shape.sampled_rows = members;
  shape.max_context = pool.max_context() + 1;
  pool.tick();
  shape.decode_context = pool.context_sum();
  budget_ -= members;
}

// Text of decoders that others may look up must be findable before anyone else publishes or looks.
void StepBuilder::publish_shared_growth() {
  if (r_.shared_growers == 0) return;
  for (const Slot member : r_.pool.members()) {
    if (!table_[member].growth_shared) continue;
    r_.pool.refresh(member, r_.kv());
    publish(table_[member]);
  }
}

// Whether this step can be planned without looking at the pool's members one by one: nobody is left out,
// nobody must be preempted, and everyone outside the pool comes after them in running order.
bool StepBuilder::pooled_step_fits() const {
  if (r_.closed_windows > 0) return false;
  std::int64_t budget = budget_ - r_.pool.size();
  if (budget < 0) return false;
  std::int64_t need = r_.pool.demand() + r_.spare_blocks;
  for (const Slot slot : r_.running) {
    const RequestState& state = table_[slot];
    const bool ordered =
        composition_ == Composition::kDecodesFirst || state.admission > r_.last_pool_admission;
    if (state.decoding || !ordered) return false;
    if (budget == 0) continue;
    const ChunkView view{&state.spec, Tokens{state.known() - state.computed}, Tokens{budget}, true};
    const std::optional<Tokens> chunk = r_.rules.batch->chunk(view, r_.config);
    if (!chunk.has_value() || chunk->value <= 0) return false;
    budget -= chunk->value;
    need += std::max<std::int64_t>(blocks_needed(state, chunk->value), 0);
  }
  return need <= r_.kv().free().value;
}

void StepBuilder::unpark_all() {
  if (r_.pool.size() == 0) return;
  const std::vector<Slot> members = r_.pool.members();
  for (const Slot slot : members) {
    RequestState& state = table_[slot];
    r_.pool.unpark(slot, false, r_.kv());
    if (state.growth_shared) --r_.shared_growers;
    state.last_token = r_.last_end;
    publish(state);
    r_.running.push_back(slot);
  }
  std::sort(r_.running.begin(), r_.running.end(),
            [this](Slot a, Slot b) { return table_[a].admission < table_[b].admission; });
}

bool StepBuilder::belongs(Slot slot, Part part) const {
  return part == Part::kAll || table_[slot].decoding == (part == Part::kDecoders);
}

void StepBuilder::schedule_running(Part part) {
  std::size_t index = 0;
  bool stopped = false;
  while (index < r_.running.size() && budget_ > 0 && !stopped) {
    if (part != Part::kPrompts) decode_stretch(index);
    if (index >= r_.running.size() || budget_ == 0) break;
    if (belongs(r_.running[index], part)) {
      stopped = !schedule_one(index);
    } else {
      ++index;
    }
  }
  const HeldReason reason = stopped ? HeldReason::kKvAllocation : HeldReason::kTokenBudget;
  for (; index < r_.running.size(); ++index) {
    if (belongs(r_.running[index], part)) hold(r_.running[index], reason);
  }
}

// False when the request itself had to be preempted: the whole running loop ends then.
bool StepBuilder::schedule_one(std::size_t& index) {
  const Slot slot = r_.running[index];
  RequestState& state = table_[slot];
  const std::optional<HeldReason> reason = cannot_run(state);
  const std::int64_t tokens = reason.has_value() ? 0 : chunk_of(state);
  if (tokens <= 0) {
    hold(slot, reason.value_or(HeldReason::kInFlight));
    ++index;
    return true;
  }
  return schedule_tokens(index, tokens);
}

bool StepBuilder::schedule_tokens(std::size_t& index, std::int64_t tokens) {
  const Slot slot = r_.running[index];
  RequestState& state = table_[slot];
  const bool decode = state.decoding && tokens == 1;
  if (r_.windows.any()) pass_blocks(state);
  const std::int64_t need = std::max(blocks_needed(state, tokens), decode ? r_.spare_blocks : 0);
  if (need > r_.kv().free().value && !make_room(index, need)) return false;
  if (!decode) record_growth(r_.words, r_.kv());
  const std::int64_t context = state.computed;
  grow(state, tokens);
  add_row(slot, state, tokens, decode);
  if (!decode) {
    const PlanEntry entry{PlanAction::kChunk, state.spec.id,  Tokens{tokens}, Tokens{context},
                          Tokens{0},          state.decoding, false};
    r_.plan.entries.push_back(entry);
    record_entry(r_.words, RecordTag::kChunk, entry);
    record_taken(r_.words, r_.kv());
  }
  ++index;
  return true;
}

// The common rows: decoders, from `index` on, that take one token and for which nothing has to be asked.
// Stops at the first that is anything else.
void StepBuilder::decode_stretch(std::size_t& index) {
  StepShape& shape = r_.plan.shape;
  const std::int64_t block_size = r_.config.block_size.value;
  const std::int64_t last_context = r_.config.max_model_len.value - 1;
  const bool ahead = r_.config.in_flight.speculate_outputs;
  const bool windowed = r_.windows.any();
  const std::size_t begin = index;
  std::size_t end = std::min(r_.running.size(), begin + static_cast<std::size_t>(budget_));
  if (r_.kv().free().value < r_.spare_blocks) return;
  const Slot* const running = r_.running.data();
  std::vector<StepRow>& rows = r_.plan.rows;
  const std::int64_t window = shape.window;
  std::int64_t contexts = 0;
  std::int64_t seen = 0;
  std::int64_t longest = shape.max_context;
  for (; index < end; ++index) {
    const Slot slot = running[index];
    RequestState& state = table_[slot];
    const std::int64_t context = state.computed;
    if (!state.decoding || state.in_flight > 0 || state.window_closed) break;
    if (context + 1 != state.known() || context >= last_context) break;
    if (windowed) pass_blocks(state);
    const std::int64_t held_tokens = state.held * block_size;
    if (context == held_tokens) {
      if (r_.kv().free().value < tables_) break;
      grow(state, 1);
      if (r_.kv().free().value < r_.spare_blocks) end = index + 1;
    } else {
      ++state.computed;
      if (state.computed == held_tokens) publish(state);
    }
    ++state.in_flight;
    if (ahead) ++state.placeholders;
    rows.push_back({state.spec.id, Tokens{1}, Tokens{context}, true, slot});
    contexts += context + 1;
    seen += std::min(context + 1, window);
    longest = std::max(longest, context + 1);
  }
  shape.decode_context += contexts;
  shape.window_context += seen;
  shape.max_context = longest;
  const auto count = static_cast<std::int64_t>(index - begin);
  shape.tokens += count;
  shape.sequences += count;
  shape.decode_sequences += count;
  shape.sampled_rows += count;
  budget_ -= count;
}

std::optional<HeldReason> StepBuilder::cannot_run(const RequestState& state) const {
  if (state.window_closed) return HeldReason::kClientWindow;
  if (state.in_flight > 0 && !r_.config.in_flight.speculate_outputs) return HeldReason::kInFlight;
  // Outputs in flight surely finish it.
  const std::int64_t sure = state.computed + 2 - state.placeholders;
  if (state.placeholders > 0 && sure >= state.spec.prompt.value + state.limit) return HeldReason::kInFlight;
  return std::nullopt;
}

std::int64_t StepBuilder::chunk_of(const RequestState& state) const {
  const std::int64_t rest = state.known() + state.placeholders - state.computed;
  if (rest <= 0) return 0;
  const ChunkView view{&state.spec, Tokens{rest}, Tokens{budget_}, true};
  const std::optional<Tokens> chunk = r_.rules.batch->chunk(view, r_.config);
  const std::int64_t room = r_.config.max_model_len.value - 1 - state.computed;
  return std::min(chunk.value_or(Tokens{0}).value, room);
}

std::int64_t StepBuilder::blocks_needed(const RequestState& state, std::int64_t tokens) const {
  return (ceil_div(state.computed + tokens, r_.config.block_size.value) - state.held) * tables_;
}

// Gives back what the queries of this step, and all later ones, do not see.
void StepBuilder::pass_blocks(const RequestState& state) {
  r_.held_sum -= r_.windows.pass(r_.kv(), state.owner, state.computed);
}

// As many as `tokens` more need.
void StepBuilder::take_blocks(RequestState& state, std::int64_t tokens) {
  const std::int64_t need = blocks_needed(state, tokens);
  if (need <= 0) return;
  r_.kv().take(need);
  r_.held_sum += need;
  if (r_.windows.any()) {
    state.held += need / tables_;
    r_.windows.extend(r_.kv(), state.owner, static_cast<std::int32_t>(state.held));
    return;
  }
  state.held += need;
  r_.kv().extend(state.owner, static_cast<std::int32_t>(state.held));
}

void StepBuilder::grow(RequestState& state, std::int64_t tokens) {
  take_blocks(state, tokens);
  const bool reaches_end = state.computed + tokens == state.known() + state.placeholders;
  state.computed += tokens;
  publish(state);
  if (reaches_end) state.decoding = true;
}

void StepBuilder::add_row(Slot slot, RequestState& state, std::int64_t tokens, bool decode) {
  const bool sampled = state.computed == state.known() + state.placeholders;
  const std::int64_t context = state.computed - tokens;
  add_shape(state, tokens, context, decode, 1);
  if (sampled) {
    ++r_.plan.shape.sampled_rows;
    if (r_.config.in_flight.speculate_outputs) ++state.placeholders;
  }
  ++state.in_flight;
  budget_ -= tokens;
  r_.plan.rows.push_back({state.spec.id, Tokens{tokens}, Tokens{context}, sampled, slot});
  CHECK_INVARIANT(budget_ >= 0, budget_, slot);
}

void StepBuilder::add_shape(
    const RequestState& state, std::int64_t tokens, std::int64_t context, bool decode, int sign) {
  StepShape& shape = r_.plan.shape;
  shape.tokens += sign * tokens;
  shape.sequences += sign;
  shape.max_context = std::max<std::int64_t>(shape.max_context, state.computed);
  if (decode) {
    shape.decode_sequences += sign;
    shape.decode_context += sign * (context + tokens);
    shape.window_context += sign * std::min(context + tokens, shape.window);
  } else {
    shape.prefill_sequences += sign;
    shape.prefill_tokens += sign * tokens;
    shape.prefill_q_context += sign * tokens * context;
    shape.prefill_q_squared += sign * tokens * tokens;
    if (shape.window > 0) shape.window_pairs += sign * pairs_in_window(tokens, context, shape.window);
  }
}

void StepBuilder::hold(Slot slot, HeldReason reason) {
  ++r_.plan.held[static_cast<std::size_t>(reason)];
  holds_.emplace_back(slot, reason);
  const RequestState& state = table_[slot];
  if (!state.decoding) return;
  const PlanEntry entry{PlanAction::kHold, state.spec.id, Tokens{0}, Tokens{0}, Tokens{0}, false, false};
  record_growth(r_.words, r_.kv());
  r_.plan.entries.push_back(entry);
  record_entry(r_.words, RecordTag::kHold, entry);
}

}  // namespace servetwin
