// See naive_scheduler.h. Every plan walks every request; the shape follows the prose of the rules.
#include "tests/support/naive_scheduler.h"

#include <algorithm>
#include <tuple>

#include "engine/base/check.h"

namespace servetwin {

NaiveScheduler::NaiveScheduler(const GoldenSetup& setup)
    : setup_(setup), kv_(setup.engine), host_free_(setup.engine.host_blocks.value) {}

void NaiveScheduler::arrive(const RequestSpec& spec) {
  requests_[spec.id].spec = spec;
  const EngineConfig& engine = setup_.engine;
  const bool too_long = spec.prompt >= engine.max_model_len;
  if (too_long || kv_.most(spec.prompt.value) > engine.num_blocks.value - 1) {
    end(spec.id, EndState::kRejected);
    return;
  }
  enqueue(spec.id);
  plannable_ = true;
}

void NaiveScheduler::enqueue(RequestId id) {
  std::deque<RequestId>& queue = blocked(requests_.at(id)) ? skipped_ : waiting_;
  queue.push_back(id);
  sort_if_by_priority(queue);
}

void NaiveScheduler::ready(RequestId id, WaitsFor what) {
  const auto found = requests_.find(id);
  if (found == requests_.end()) return;
  RequestSpec& spec = found->second.spec;
  spec.waits_for = without(spec.waits_for, what);
  plannable_ = true;
}

void NaiveScheduler::cancel(RequestId id) {
  if (requests_.count(id) == 0) return;
  end(id, EndState::kCancelled);
  plannable_ = true;
}

void NaiveScheduler::reset_cache(bool forced) {
  if (forced) {
    while (!running_.empty()) {
      const RequestId id = running_.back();
      running_.pop_back();
      Request& request = requests_.at(id);
      request.discard_in_flight = request.steps_in_flight > 0;
      request.placeholders = 0;
      preempt(id);
    }
    for (auto& [id, request] : requests_) leave_host(request);
    plannable_ = true;
  }
  kv_.reset();
}

void NaiveScheduler::finish_step(std::int64_t step, const std::vector<RequestId>& stops, bool /*alone*/) {
  CHECK_INVARIANT(in_flight_.begin()->first == step);  // steps come back in order
  for (const Row& row : in_flight_.at(step)) {
    const auto found = requests_.find(row.id);
    if (found == requests_.end()) continue;  // ended meanwhile
    Request& request = found->second;
    --request.steps_in_flight;
    const bool discard = request.discard_in_flight;
    if (request.steps_in_flight == 0) request.discard_in_flight = false;
    if (!row.sampled || discard) continue;
    --request.placeholders;
    append_token(request, std::count(stops.begin(), stops.end(), row.id) > 0);
  }
  in_flight_.erase(step);
  plannable_ = true;
}

void NaiveScheduler::append_token(Request& request, bool stop) {
  ++request.outputs;
  const RequestSpec& spec = request.spec;
  const bool is_running = std::count(running_.begin(), running_.end(), spec.id) > 0;
  if (setup_.engine.in_flight.speculate_outputs && is_running) {
    kv_.publish(spec, request.computed - request.placeholders);
  }
  if (stop) {
    end(spec.id, EndState::kStop);
  } else if (request.known() >= setup_.engine.max_model_len.value ||
             request.outputs >= spec.max_tokens.value) {
    end(spec.id, EndState::kLength);
  }
}

void NaiveScheduler::end(RequestId id, EndState state) {
  Request& request = requests_.at(id);
  leave_host(request);
  ends_.push_back({id, state, request.outputs, request.preemptions, now_});
  kv_.release(id);
  std::erase(running_, id);
  std::erase(waiting_, id);
  std::erase(skipped_, id);
  requests_.erase(id);
}

std::vector<EndTrace> NaiveScheduler::take_ends() {
  std::sort(ends_.begin(), ends_.end(), [](const EndTrace& a, const EndTrace& b) {
    return std::tie(a.time, a.request) < std::tie(b.time, b.request);
  });
  return std::exchange(ends_, {});
}

std::optional<StepTrace> NaiveScheduler::plan() {
  const bool full = static_cast<int>(in_flight_.size()) >= setup_.engine.in_flight.depth;
  if (!plannable_ || full) return std::nullopt;
  Draft draft;
  draft.budget = setup_.engine.max_num_batched_tokens.value;
  plan_running(draft);
  plan_waiting(draft);
  if (draft.tokens.empty()) {
    // An empty step takes no time: the engine goes on at once unless there is a result to wait for.
    if (!draft.victims.empty() && in_flight_.empty()) return plan();
    plannable_ = false;
    return std::nullopt;
  }
  commit(draft);
  return draft.trace;
}

bool NaiveScheduler::blocked(const Request& request) const {
  return request.spec.waits_for != WaitsFor::kNothing || request.steps_in_flight > 0;
}

// It will reach its length when the outputs in flight arrive, so another step would be one too many.
bool NaiveScheduler::finishes_with_in_flight(const Request& request) const {
  return request.placeholders > 0 && request.computed + 2 - request.placeholders >=
                                         request.spec.prompt.value + request.spec.max_tokens.value;
}

std::int64_t NaiveScheduler::gap(const Request& request, std::int64_t budget) const {
  const EngineConfig& engine = setup_.engine;
  std::int64_t tokens = request.known() + request.placeholders - request.computed;
  if (engine.long_prefill_token_threshold.value > 0) {
    tokens = std::min(tokens, engine.long_prefill_token_threshold.value);
  }
  tokens = std::min(tokens, budget);
  return std::min(tokens, engine.max_model_len.value - 1 - request.computed);
}

void NaiveScheduler::plan_running(Draft& draft) {
  std::size_t cursor = 0;
  while (cursor < running_.size() && draft.budget > 0) {
    const RequestId id = running_[cursor];
    const Request& request = requests_.at(id);
    const bool waits_for_output = request.steps_in_flight > 0 && !setup_.engine.in_flight.speculate_outputs;
    const std::int64_t tokens = gap(request, draft.budget);
    if (waits_for_output || finishes_with_in_flight(request) || tokens == 0) {
      draft.explained.insert(id);
      ++held(draft, HeldReason::kInFlight);
      ++cursor;
      continue;
    }
    kv_.pass(id, request.computed);
    if (!make_room(draft, id, tokens)) break;
    kv_.allocate(id, {}, request.computed + tokens);
    kv_.publish(request.spec, std::min(request.computed + tokens, request.known()));
    draft.budget -= tokens;
    draft.tokens[id] = tokens;
    // By identity: victims before the request have moved it.
    const auto self = std::find(running_.begin(), running_.end(), id);
    cursor = static_cast<std::size_t>(self - running_.begin()) + 1;
  }
  for (const RequestId id : running_) {
    if (draft.tokens.count(id) + draft.explained.count(id) > 0) continue;
    ++held(draft, draft.budget == 0 ? HeldReason::kTokenBudget : HeldReason::kKvAllocation);
  }
}

// Preempts until `tokens` more tokens of the request can be held; false if the request itself had to go.
bool NaiveScheduler::make_room(Draft& draft, RequestId id, std::int64_t tokens) {
  while (kv_.need(id, {}, requests_.at(id).computed + tokens) > kv_.free_count()) {
    const RequestId loser = victim();
    const auto scheduled = draft.tokens.find(loser);
    if (scheduled != draft.tokens.end()) {
      draft.budget += scheduled->second;
      draft.tokens.erase(scheduled);
    }
    if (draft.explained.erase(loser) > 0) --held(draft, HeldReason::kInFlight);
    std::erase(running_, loser);
    swap_out(draft, requests_.at(loser));
    preempt(loser);
    draft.victims.insert(loser);
    if (loser == id) return false;
  }
  return true;
}

// Equals in priority and arrival fall back to the id: with any tie broken by place in the list, two of them
// could push each other out for ever.
RequestId NaiveScheduler::victim() const {
  if (!setup_.by_priority) return running_.back();
  return *std::max_element(running_.begin(), running_.end(),
                           [this](RequestId a, RequestId b) { return comes_before(a, b); });
}

// All blocks that hold what it had computed before this step, shared ones too.
void NaiveScheduler::swap_out(Draft& draft, Request& request) {
  const std::int64_t blocks = ceil_div(request.computed, setup_.engine.block_size.value);
  if (blocks == 0 || blocks > host_free_) return;
  host_free_ -= blocks;
  request.on_host = request.computed;
  swapped_out_.emplace_back(request.spec.id, request.computed);
  draft.trace.swap_blocks += blocks;
}

void NaiveScheduler::leave_host(Request& request) {
  host_free_ += ceil_div(request.on_host, setup_.engine.block_size.value);
  request.on_host = 0;
}

// The request has left running_.
void NaiveScheduler::preempt(RequestId id) {
  Request& request = requests_.at(id);
  kv_.release(id);
  request.computed = 0;
  ++request.preemptions;
  preempted_.push_back(id);
  waiting_.push_front(id);
  sort_if_by_priority(waiting_);
}

void NaiveScheduler::plan_waiting(Draft& draft) {
  std::deque<RequestId> aside;
  std::optional<HeldReason> rest;  // why those not looked at stay
  if (!draft.victims.empty()) rest = HeldReason::kPreempted;
  while (!rest && !(waiting_.empty() && skipped_.empty())) {
    if (draft.budget == 0) {
      rest = HeldReason::kTokenBudget;
    } else if (static_cast<std::int64_t>(running_.size()) == setup_.engine.max_num_seqs) {
      rest = HeldReason::kSeqsCap;
    } else {
      std::deque<RequestId>& queue = next_is_skipped() ? skipped_ : waiting_;
      const RequestId id = queue.front();
      if (blocked(requests_.at(id))) {
        aside.push_back(id);
      } else if (const std::optional<HeldReason> refusal = try_admit(draft, id)) {
        ++held(draft, *refusal);
        draft.explained.insert(id);
        rest = *refusal == HeldReason::kTokenBudget ? *refusal : HeldReason::kHeadOfLine;
        break;
      }
      queue.pop_front();
    }
  }
  skipped_.insert(skipped_.begin(), aside.begin(), aside.end());
  sort_if_by_priority(skipped_);
  for (const auto* queue : {&skipped_, &waiting_}) {
    for (const RequestId id : *queue) {
      const Request& request = requests_.at(id);
      if (draft.explained.count(id) > 0) continue;
      if (request.spec.waits_for != WaitsFor::kNothing) {
        ++held(draft, HeldReason::kBlocked);
      } else if (request.steps_in_flight > 0 && draft.victims.count(id) == 0) {
        ++held(draft, HeldReason::kInFlight);
      } else {
        ++held(draft, *rest);
      }
    }
  }
}

// Which queue the next request to look at comes from; one of them is not empty.
bool NaiveScheduler::next_is_skipped() const {
  if (skipped_.empty() || waiting_.empty()) return waiting_.empty();
  return !setup_.by_priority || comes_before(skipped_.front(), waiting_.front());
}

// Admits the request, or says why not. The caller takes it out of its queue.
std::optional<HeldReason> NaiveScheduler::try_admit(Draft& draft, RequestId id) {
  const EngineConfig& engine = setup_.engine;
  Request& request = requests_.at(id);
  const NaiveTables hit = kv_.lookup(request.spec, request.known());
  const std::int64_t hit_blocks = static_cast<std::int64_t>(hit.front().size());
  const std::int64_t hit_tokens = hit_blocks * engine.block_size.value;
  const std::int64_t context = std::max(hit_tokens, request.on_host);
  std::int64_t tokens = request.known() - context;
  if (engine.long_prefill_token_threshold.value > 0) {
    tokens = std::min(tokens, engine.long_prefill_token_threshold.value);
  }
  if (!engine.chunked_prefill && tokens > draft.budget) return HeldReason::kTokenBudget;
  tokens = std::min(tokens, draft.budget);

  const std::int64_t chunk = kv_.need(id, hit, context + tokens);
  const std::int64_t whole = kv_.need(id, hit, request.known(), true);
  const std::int64_t asked = engine.full_sequence_gate ? whole : chunk;
  if (asked > kv_.free_count()) {
    return engine.full_sequence_gate ? HeldReason::kKvGate : HeldReason::kKvAllocation;
  }
  const double share = engine.watermark * static_cast<double>(engine.num_blocks.value);
  const std::int64_t kept_free = running_.empty() ? 0 : static_cast<std::int64_t>(share);
  if (asked + kept_free > kv_.free_count()) return HeldReason::kWatermark;

  kv_.allocate(id, hit, context + tokens);
  kv_.publish(request.spec, std::min(context + tokens, request.known()));
  if (request.on_host > hit_tokens) {
    draft.trace.swapped_in.emplace_back(id, request.on_host - hit_tokens);
    draft.trace.swap_blocks += ceil_div(request.on_host, engine.block_size.value) - hit_blocks;
  }
  leave_host(request);
  request.computed = context;
  running_.push_back(id);
  draft.budget -= tokens;
  draft.tokens[id] = tokens;
  draft.trace.admitted.emplace_back(id, hit_tokens);
  return std::nullopt;
}

// Computed tokens advance now, before the step has run.
void NaiveScheduler::commit(Draft& draft) {
  StepTrace& trace = draft.trace;
  trace.step = ++last_step_;
  trace.time = now_;
  std::vector<Row>& rows = in_flight_[last_step_];
  for (const RequestId id : running_) {
    const auto scheduled = draft.tokens.find(id);
    if (scheduled == draft.tokens.end()) continue;
    Request& request = requests_.at(id);
    request.computed += scheduled->second;
    const bool sampled = request.computed >= request.known() + request.placeholders;
    if (sampled) ++request.placeholders;
    ++request.steps_in_flight;
    rows.push_back({id, sampled});
    if (sampled) trace.sampled.push_back(id);
    trace.tokens.emplace_back(id, scheduled->second);
  }
  trace.preempted = std::exchange(preempted_, {});
  trace.swapped_out = std::exchange(swapped_out_, {});
  trace.used = kv_.used_count();
  trace.free = kv_.free_count();
  trace.free_ids = kv_.free_ids();
}

std::int64_t& NaiveScheduler::held(Draft& draft, HeldReason reason) {
  return draft.trace.held[static_cast<std::size_t>(reason)];
}

bool NaiveScheduler::comes_before(RequestId a, RequestId b) const {
  const RequestSpec& x = requests_.at(a).spec;
  const RequestSpec& y = requests_.at(b).spec;
  return std::tie(x.priority, x.arrival, x.id) < std::tie(y.priority, y.arrival, y.id);
}

void NaiveScheduler::sort_if_by_priority(std::deque<RequestId>& queue) const {
  if (!setup_.by_priority) return;
  std::stable_sort(queue.begin(), queue.end(),
                   [this](RequestId a, RequestId b) { return comes_before(a, b); });
}

std::unique_ptr<GoldenDriver> make_naive_driver(const GoldenSetup& setup) {
  return std::make_unique<NaiveScheduler>(setup);
}

}  // namespace servetwin
