// If these fail, the fused CUDA kernel turns by other angles, or writes other keys, values or slots than its
// CPU twins.
#include "kernels/rotary/rotary.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "kernels/attention/paged_attention.h"
#include "tests/emulator/kernel_rig.h"
#include "tests/emulator/mutants.h"
#include "tests/support/catch.h"

namespace servetwin::emulator::rotary_test {
namespace {

constexpr std::int64_t kTokens = 5;
constexpr std::int64_t kSlots = 24;

struct RotaryCase {
  DType dtype = DType::kF32;
  DType cached = DType::kF32;
  std::int64_t heads = 3;
  std::int64_t kv_heads = 2;
  std::int64_t head_dim = 16;
  std::int64_t turned = 16;  // elements of a head
  RotaryLayout layout = RotaryLayout::kNeox;
  float magnitude = 1;
};

// A cache of kSlots slots that begins behind one that is nobody's; all bytes 0x55 at first.
struct HostCache {
  explicit HostCache(const RotaryCase& c)
      : vectors((kSlots + 1) * c.kv_heads),
        element(static_cast<std::size_t>(layout_of(c.cached).block_bytes)),
        keys(static_cast<std::size_t>(vectors * c.head_dim) * element, std::byte{0x55}),
        values(keys),
        key_scales(static_cast<std::size_t>(vectors), 0.5F),
        value_scales(key_scales) {}

  std::int64_t vectors;
  std::size_t element;
  std::vector<std::byte> keys;
  std::vector<std::byte> values;
  std::vector<float> key_scales;
  std::vector<float> value_scales;
};

PagedCache view(const RotaryCase& c, void* keys, void* values, float* key_scales, float* value_scales) {
  const auto skipped = static_cast<std::ptrdiff_t>(c.kv_heads);
  const std::ptrdiff_t bytes = skipped * c.head_dim * layout_of(c.cached).block_bytes;
  return {static_cast<std::byte*>(keys) + bytes,
          static_cast<std::byte*>(values) + bytes,
          4,
          c.kv_heads,
          c.head_dim,
          c.cached,
          has_scales(c.cached) ? key_scales + skipped : nullptr,
          has_scales(c.cached) ? value_scales + skipped : nullptr};
}

// Elements of the cache as numbers, each times its vector's scale.
std::vector<float> numbers_of(const RotaryCase& c,
                              const std::vector<std::byte>& bytes,
                              const std::vector<float>& scales) {
  const PagedCache whole{const_cast<std::byte*>(bytes.data()), nullptr, 1, 1, 0, c.cached};
  std::vector<float> numbers;
  for (std::size_t i = 0; i < bytes.size() / static_cast<std::size_t>(layout_of(c.cached).block_bytes); ++i) {
    numbers.push_back(cached_number(whole.dtype, bytes.data(), i));
    if (has_scales(c.cached)) numbers.back() *= scales[i / static_cast<std::size_t>(c.head_dim)];
  }
  return numbers;
}

std::vector<std::byte> bytes_in(const WatchedBytes& memory) {
  const auto* const first = static_cast<const std::byte*>(memory.data());
  return {first, first + memory.size()};
}

bool matches(const RotaryCase& c, decltype(rotary_store_cuda)& function = rotary_store_cuda) {
  const std::vector<std::int32_t> positions{0, 3, 1000, 77, 5};
  const std::vector<std::int64_t> slots{5, kSlots - 1, -1, 0, 9};
  RotaryOptions options;
  options.head_dim = c.turned;
  RotaryFrequencies frequencies = rotary_frequencies(options);
  frequencies.magnitude = c.magnitude;
  std::vector<float> queries = rounded(c.dtype, noise(1, kTokens * c.heads * c.head_dim));
  std::vector<float> keys = rounded(c.dtype, noise(2, kTokens * c.kv_heads * c.head_dim));
  const std::vector<float> values = rounded(c.dtype, noise(3, kTokens * c.kv_heads * c.head_dim));

  HostCache host(c);
  const auto there = [&](const std::vector<std::byte>& bytes) {
    auto memory = std::make_unique<WatchedBytes>(bytes.size(), host.element, "the cache");
    std::copy(bytes.begin(), bytes.end(), static_cast<std::byte*>(memory->data()));
    memory->set_written();
    return memory;
  };
  const auto key_memory = there(host.keys);
  const auto value_memory = there(host.values);
  const Buffer<float> key_scales(host.key_scales);
  const Buffer<float> value_scales(host.value_scales);
  const FloatArray queries_there(c.dtype, queries);
  const FloatArray keys_there(c.dtype, keys);
  const FloatArray values_there(c.dtype, values);
  const Buffer<std::int32_t> positions_there(positions);
  const Buffer<std::int64_t> slots_there(slots);
  const Buffer<float> speeds(frequencies.speeds);
  function({kTokens, c.heads, c.dtype, queries_there.data(), keys_there.data(), values_there.data(),
            positions_there.data(), slots_there.data(), speeds.data(), c.turned / 2, c.magnitude, c.layout},
           view(c, key_memory->data(), value_memory->data(), key_scales.data(), value_scales.data()), {});

  rotary(frequencies, c.layout, positions.data(), kTokens, {queries.data(), c.heads, c.head_dim});
  rotary(frequencies, c.layout, positions.data(), kTokens, {keys.data(), c.kv_heads, c.head_dim});
  store_keys_values(
      view(c, host.keys.data(), host.values.data(), host.key_scales.data(), host.value_scales.data()),
      keys.data(), values.data(), slots.data(), kTokens);
  // An ulp of an angle may turn a rounding of the cache: as far off as the twin's own numbers are.
  const std::vector<float> cached = numbers_of(c, host.keys, host.key_scales);
  const std::vector<float> seen = numbers_of(c, bytes_in(*key_memory), key_scales.values());
  const float unit = c.cached == DType::kF8E4M3 ? 1.0F / 16 : 1.0F / 64;
  bool all_near = true;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const float error = std::abs(seen[i] - cached[i]);
    all_near = all_near && error <= (c.cached == c.dtype
                                         ? 2e-5F + (c.dtype == DType::kF32 ? 0 : unit) * std::abs(cached[i])
                                         : unit * 2);
  }
  return all_near && is_close(queries_there.values(), queries, c.dtype) &&
         bytes_in(*value_memory) == host.values && value_scales.values() == host.value_scales;
}

}  // namespace

TEST_CASE("CUDA turns queries and fills the cache as the CPU does, in both layouts and every format") {
  under_nine_seeds([](std::uint64_t seed) {
    for (const DType dtype : kFloatTypes) {
      for (const DType cached : {dtype, DType::kI8, DType::kF8E4M3}) {
        RotaryCase c;
        c.dtype = dtype;
        c.cached = cached;
        c.heads = some_number(seed, 0, 1, 9);
        c.kv_heads = some_number(seed, 1, 1, 3);
        c.head_dim = 2 * some_number(seed, 2, 3, 70);
        c.turned = seed % 2 == 0 ? c.head_dim : c.head_dim / 4 * 2 + 2;
        c.layout = seed % 3 == 0 ? RotaryLayout::kInterleaved : RotaryLayout::kNeox;
        c.magnitude = seed % 4 == 0 ? 1.2F : 1.0F;
        CAPTURE(name_of(dtype), name_of(cached), c.head_dim, c.turned);
        CHECK(matches(c));
      }
    }
  });
}

TEST_CASE("a mutant of the CUDA cache write is noticed: a padded row that is written") {
  CHECK(matches({}));
  CHECK(is_noticed([] { return matches({}, store_of_padded_rows::rotary_store_cuda); }));
}

TEST_CASE("no barrier of the CUDA rotary embedding can go") {
  check_no_barrier_can_go(1, [] { return matches({}); });
}

}  // namespace servetwin::emulator::rotary_test
