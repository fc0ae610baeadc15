// Makes a slot ready for its next request without giving back what its lists already hold.
#include "engine/serving/request_table.h"

#include <utility>

namespace servetwin {

void RequestTable::reset(RequestState& state, const RequestSpec& spec) {
  std::vector<KvExtent> hits = std::move(state.hits);
  std::vector<ContentRun> runs = std::move(state.runs);
  state = RequestState{};
  hits.clear();
  runs.clear();
  state.hits = std::move(hits);
  state.runs = std::move(runs);
  state.spec = spec;
  state.waits_for = spec.waits_for;
  state.record.id = spec.id;
  state.record.traffic_class = spec.traffic_class;
  state.record.stat_group = spec.stat_group;
  state.record.tenant = spec.tenant;
  state.record.adapter = spec.adapter;
  state.record.prompt = spec.prompt;
  state.record.max_tokens = spec.max_tokens;
  state.record.arrival = spec.arrival;
}

}  // namespace servetwin
