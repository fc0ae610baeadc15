// Philox4x32-10 (Salmon et al., SC'11) from Random123, keyed by seed and counted by what the draw is for.
#include "engine/base/rng.h"

#include <Random123/philox.h>

namespace servetwin {
namespace {

std::uint32_t low_half(std::uint64_t value) { return static_cast<std::uint32_t>(value); }

std::uint32_t high_half(std::uint64_t value) { return static_cast<std::uint32_t>(value >> 32); }

}  // namespace

std::uint64_t draw_u64(const StreamKey& key, std::uint32_t index, std::uint16_t attempt) {
  const std::uint32_t purpose = static_cast<std::uint32_t>(key.stream) << 16 | attempt;
  const philox4x32_ctr_t counter = {{low_half(key.entity), high_half(key.entity), index, purpose}};
  const philox4x32_key_t philox_key = {{low_half(key.seed), high_half(key.seed)}};
  const philox4x32_ctr_t words = philox4x32(counter, philox_key);
  return static_cast<std::uint64_t>(words.v[1]) << 32 | words.v[0];
}

double draw_unit(const StreamKey& key, std::uint32_t index, std::uint16_t attempt) {
  const std::uint64_t odd = draw_u64(key, index, attempt) >> 12 << 1 | 1;
  return static_cast<double>(odd) * 0x1p-53;
}

}  // namespace servetwin
