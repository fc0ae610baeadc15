// What a step of the decoders amounts to for those who watch each part of it.
#include "engine/serving/observer.h"

namespace servetwin {

void Observer::on_decode_step(const DecodeStep& step) {
  const Time end = step.plan.time;
  on_step_done(step.plan.replica, step.ended, step.shape, step.planned, end);
  for (int group = 0; group < step.num_groups; ++group) {
    const std::int64_t count = step.decoders[static_cast<std::size_t>(group)];
    if (count > 0) on_gaps(step.plan.replica, group, step.gap, count, end, kNoRequest);
  }
  on_plan(step.plan);
}

}  // namespace servetwin
