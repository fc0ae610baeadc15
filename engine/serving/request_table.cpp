// The first and the last of a request in its slot.
#include "engine/serving/request_table.h"

#include <utility>

namespace servetwin {

// The slot's list keeps its storage.
void RequestTable::reset(RequestState& state, const RequestSpec& spec) {
  std::vector<ContentSegment> content = std::move(state.spec.content);
  std::vector<ContentRun> runs = std::move(state.runs);
  state = RequestState{};
  runs.clear();
  state.runs = std::move(runs);
  state.spec.content = std::move(content);
  state.spec = spec;
  state.waits_for = spec.waits_for;
}

RequestRecord RequestTable::record(
    Slot slot, Tokens block_size, EndState as, EndReason reason, Time now) const {
  const RequestState& state = states_[slot];
  const bool running = state.phase == Phase::kRunning;
  const std::int64_t slots = state.held * block_size.value;
  RequestRecord record;
  record.id = state.spec.id;
  record.replica = state.replica;
  record.traffic_class = state.spec.traffic_class;
  record.stat_group = state.spec.stat_group;
  record.tenant = state.spec.tenant;
  record.adapter = state.spec.adapter;
  record.end_state = as;
  record.end_reason = reason;
  record.prompt = state.spec.prompt;
  record.max_tokens = state.spec.max_tokens;
  record.outputs = Tokens{state.outputs};
  record.cached = Tokens{state.cached};
  record.recomputed = Tokens{state.recomputed};
  record.preemptions = static_cast<std::int32_t>(state.lives) - (running ? 1 : 0);
  record.arrival = state.spec.arrival;
  record.ready = state.ready;
  record.first_scheduled = state.first_scheduled;
  record.first_token = state.first_token;
  record.last_token = state.last_token;
  record.end = now;
  record.preempted = state.preempted;
  record.head_of_line = state.head_of_line;
  record.held_at_end = Tokens{slots};
  record.waste_at_end = Tokens{slots - state.computed};
  return record;
}

}  // namespace servetwin
