// Cosine and sine once a token and pair, for all its heads.
#include "kernels/rotary/rotary.h"

#include "kernels/rotary/turn.h"

namespace servetwin {

void rotary(const RotaryFrequencies& frequencies,
            RotaryLayout layout,
            const std::int32_t* positions,
            std::int64_t tokens,
            const RotatedHeads& heads) {
  const auto pairs = static_cast<std::int64_t>(frequencies.speeds.size());
  const std::int64_t partner = layout == RotaryLayout::kNeox ? pairs : 1;
  const std::int64_t step = layout == RotaryLayout::kNeox ? 1 : 2;
  float* token = heads.values;
  for (std::int64_t t = 0; t < tokens; ++t, token += heads.num_heads * heads.stride) {
    for (std::int64_t pair = 0; pair < pairs; ++pair) {
      const float angle =
          static_cast<float>(positions[t]) * frequencies.speeds[static_cast<std::size_t>(pair)];
      const Turn turn = turn_of(static_cast<double>(angle));
      const float cosine = static_cast<float>(turn.cosine) * frequencies.magnitude;
      const float sine = static_cast<float>(turn.sine) * frequencies.magnitude;
      for (std::int64_t head = 0; head < heads.num_heads; ++head) {
        float* a = token + head * heads.stride + pair * step;
        float* b = a + partner;
        const float before = *a;
        *a = before * cosine - *b * sine;
        *b = *b * cosine + before * sine;
      }
    }
  }
}

}  // namespace servetwin
