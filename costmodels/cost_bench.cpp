// A fixed walk over step shapes, so that figures of two builds are comparable.
#include "costmodels/cost_bench.h"

namespace servetwin {

std::int64_t price_many(const CostModel& model, std::int64_t count) {
  std::int64_t total_ns = 0;
  StepShape shape;
  StepInput input;
  input.shape = &shape;
  for (std::int64_t i = 0; i < count; ++i) {
    shape = StepShape{};
    shape.decode_sequences = 1 + i % 200;
    shape.decode_context = shape.decode_sequences * (500 + i % 1000);
    shape.max_context = 1500;
    shape.tokens = shape.decode_sequences;
    shape.graph_size = (shape.tokens + 7) / 8 * 8;
    if (i % 4 == 0) {
      shape.prefill_sequences = 1;
      shape.prefill_tokens = 512;
      shape.prefill_q_squared = 512 * 512;
      shape.new_sequences = 1;
      shape.tokens += 512;
      shape.graph_size = 0;
    }
    shape.sequences = shape.decode_sequences + shape.prefill_sequences;
    shape.sampled_rows = shape.sequences;
    input.step = StepId{static_cast<std::uint64_t>(i) + 1};
    total_ns += to_ns(model.step_time(input));
  }
  return total_ns;
}

}  // namespace servetwin
