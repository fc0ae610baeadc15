// Every sampled row of a step is a token when the step ends, unless its request ended before.
#include "cli/gap_collector.h"

#include <utility>

#include "engine/base/check.h"

namespace servetwin {

void GapCollector::on_routed(const RequestSpec& request, ReplicaId /*replica*/, Time /*now*/) {
  last_token_[request.id] = kTimeNever;
}

void GapCollector::on_plan(const StepPlan& plan) {
  if (plan.shape.tokens == 0) return;
  CHECK_INVARIANT(plan.all_rows, raw(plan.step));
  Planned planned{plan.step, {}};
  for (const StepRow& row : plan.rows) {
    if (row.sampled) planned.sampled.push_back(row.request);
  }
  if (raw(plan.replica) >= in_flight_.size()) in_flight_.resize(std::size_t{raw(plan.replica)} + 1);
  in_flight_[raw(plan.replica)].push_back(std::move(planned));
}

void GapCollector::on_step_done(
    ReplicaId replica, StepId step, const StepShape& /*shape*/, Time /*planned*/, Time end) {
  std::deque<Planned>& queue = in_flight_[raw(replica)];
  CHECK_INVARIANT(!queue.empty() && queue.front().step == step, raw(step));
  for (const RequestId request : queue.front().sampled) {
    const auto found = last_token_.find(request);
    if (found == last_token_.end()) continue;
    std::vector<Duration>& gaps = gaps_[request];
    if (found->second != kTimeNever) gaps.push_back(end - found->second);
    found->second = end;
  }
  queue.pop_front();
}

void GapCollector::on_end(const RequestRecord& record) {
  last_token_.erase(record.id);
  if (!is_finished(record.end_state)) return;
  const auto count = static_cast<std::int64_t>(gaps_[record.id].size());
  CHECK_INVARIANT(count + 1 == record.outputs.value, raw(record.id), count, record.outputs);
}

}  // namespace servetwin
