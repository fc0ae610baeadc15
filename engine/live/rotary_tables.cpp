// Translates a RopeSpec.
#include "engine/live/rotary_tables.h"

namespace servetwin {
namespace {

RotaryScaling scaling_of(RopeType type) {
  switch (type) {
    case RopeType::kLinear:
      return RotaryScaling::kLinear;
    case RopeType::kDynamic:
      return RotaryScaling::kDynamicNtk;
    case RopeType::kYarn:
      return RotaryScaling::kYarn;
    case RopeType::kLlama3:
      return RotaryScaling::kLlama3;
    case RopeType::kLongRope:
      return RotaryScaling::kDivisors;
    case RopeType::kDefault:
    case RopeType::kOther:
      break;
  }
  return RotaryScaling::kNone;
}

std::int64_t rotated_dim(const ModelSpec& spec) {
  if (spec.is_mla()) return spec.mla.qk_rope_head_dim;
  return spec.rope.rotated_dim > 0 ? spec.rope.rotated_dim : spec.head_dim;
}

RotaryOptions rotary_options(const ModelSpec& spec, Tokens longest) {
  const RopeSpec& rope = spec.rope;
  RotaryOptions options;
  options.head_dim = rotated_dim(spec);
  options.theta = rope.theta;
  options.scaling = scaling_of(rope.type);
  options.factor = rope.factor;
  options.original_max_position =
      rope.original_max_position > 0 ? rope.original_max_position : static_cast<double>(spec.max_position);
  options.max_position = static_cast<double>(longest.value);
  options.low_freq_factor = rope.low_freq_factor;
  options.high_freq_factor = rope.high_freq_factor;
  options.beta_fast = rope.beta_fast;
  options.beta_slow = rope.beta_slow;
  options.magnitude = rope.magnitude;
  const bool is_long = options.max_position > options.original_max_position;
  options.divisors = is_long ? rope.long_divisors : rope.short_divisors;
  return options;
}

RotaryOptions local_options(const ModelSpec& spec) {
  RotaryOptions options;
  options.head_dim = rotated_dim(spec);
  options.theta = spec.rope.local_theta > 0 ? spec.rope.local_theta : spec.rope.theta;
  return options;
}

}  // namespace

RotaryTables::RotaryTables(const ModelSpec& spec, Tokens longest)
    : global_(rotary_frequencies(rotary_options(spec, longest))),
      local_(rotary_frequencies(local_options(spec))) {}

}  // namespace servetwin
