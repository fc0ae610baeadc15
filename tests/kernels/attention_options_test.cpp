// If these fail, windows, scales, soft caps or narrow values mean something else than their formula, or a
// partly rotated head turns where it should not.
#include <cmath>
#include <vector>

#include "engine/base/rng.h"
#include "kernels/attention/paged_attention.h"
#include "kernels/rotary/rotary.h"
#include "tests/kernels/kernel_inputs.h"
#include "tests/support/catch.h"

namespace servetwin::attention_options_test {
namespace {

constexpr std::int64_t kDim = 6;
constexpr std::int64_t kKeys = 150;  // three tiles
constexpr std::int64_t kHeads = 4;
constexpr std::int64_t kBlock = 4;

// One KV head, keys in the order of their slots.
struct Bench {
  std::vector<float> keys = noise(1, kKeys* kDim);
  std::vector<float> values = noise(2, kKeys* kDim);
  std::vector<float> queries = noise(3, kKeys* kHeads* kDim);
  std::vector<std::int32_t> table;

  Bench() {
    for (std::int32_t i = 0; i * kBlock < kKeys; ++i) table.push_back(i);
    keys.resize(table.size() * kBlock * kDim);
    values.resize(keys.size());
  }

  std::vector<float> attend(const AttentionOptions& options, std::int64_t value_dim, bool latent = false) {
    const std::int32_t cu_seqlens[] = {0, static_cast<std::int32_t>(kKeys)};
    const std::int32_t seq_lens[] = {static_cast<std::int32_t>(kKeys)};
    const std::int64_t starts[] = {0};
    std::vector<float> output(static_cast<std::size_t>(kKeys * kHeads * value_dim));
    ThreadTeam team(2);
    paged_attention({keys.data(), latent ? keys.data() : values.data(), kBlock, 1, kDim},
                    {1, cu_seqlens, seq_lens, table.data(), starts}, options, queries.data(), output.data(),
                    team);
    return output;
  }

  // Element `i` of query `token` and head, in double.
  double expected(const AttentionOptions& o, std::int64_t token, std::int64_t head, std::int64_t i) const {
    double total = 0;
    double sum = 0;
    for (std::int64_t key = 0; key <= token; ++key) {
      if (o.window > 0 && key <= token - o.window) continue;
      double score = 0;
      for (std::int64_t d = 0; d < kDim; ++d)
        score += at(queries, (token * kHeads + head) * kDim + d) * at(keys, key * kDim + d);
      score *= o.scale > 0 ? static_cast<double>(o.scale) : 1 / std::sqrt(static_cast<double>(kDim));
      const auto cap = static_cast<double>(o.soft_cap);
      if (cap > 0) score = cap * std::tanh(score / cap);
      total += std::exp(score);
      sum += std::exp(score) * at(values, key * kDim + i);
    }
    return sum / total;
  }
};

TEST_CASE("a query sees the keys of its window, scaled and capped as told") {
  Bench bench;
  AttentionOptions options{kHeads};
  for (const std::int64_t window : {0, 1, 5, 64, 65, 100, 150, 1000}) {
    for (const float scale : {0.0F, 0.9F}) {
      for (const float cap : {0.0F, 0.5F}) {
        CAPTURE(window, scale, cap);
        options.window = window;
        options.scale = scale;
        options.soft_cap = cap;
        const std::vector<float> output = bench.attend(options, kDim);
        double worst = 0;
        for (std::int64_t n = 0; n < kKeys * kHeads * kDim; ++n) {
          const double expected = bench.expected(options, n / kDim / kHeads, n / kDim % kHeads, n % kDim);
          worst = std::max(worst, std::abs(at(output, n) - expected));
        }
        CHECK(worst < 1e-5);
      }
    }
  }
}

TEST_CASE("values may be the beginnings of the keys") {
  Bench bench;
  const AttentionOptions options{kHeads, 0, 0, 0, 4};
  const std::vector<float> output = bench.attend(options, 4, true);
  bench.values = bench.keys;
  const std::vector<float> whole = bench.attend(AttentionOptions{kHeads}, kDim);
  for (std::int64_t n = 0; n < kKeys * kHeads; ++n) {
    for (std::int64_t i = 0; i < 4; ++i) CHECK(at(output, n * 4 + i) == at(whole, n * kDim + i));
  }
}

TEST_CASE("of a partly rotated head the first elements turn as a head of their own, the rest stays") {
  RotaryOptions options;
  options.head_dim = 4;
  const RotaryFrequencies frequencies = rotary_frequencies(options);
  const std::int32_t positions[] = {2, 9};
  std::vector<float> narrow = noise(4, 2 * 3 * 4);
  const std::vector<float> rest = noise(5, 2 * 3 * 3);
  std::vector<float> wide;
  for (std::int64_t head = 0; head < 6; ++head) {
    for (std::int64_t i = 0; i < 4; ++i) wide.push_back(narrow[static_cast<std::size_t>(head * 4 + i)]);
    for (std::int64_t i = 0; i < 3; ++i) wide.push_back(rest[static_cast<std::size_t>(head * 3 + i)]);
  }
  rotary(frequencies, RotaryLayout::kNeox, positions, 2, RotatedHeads{narrow.data(), 3, 4});
  rotary(frequencies, RotaryLayout::kNeox, positions, 2, RotatedHeads{wide.data(), 3, 7});
  for (std::int64_t head = 0; head < 6; ++head) {
    for (std::int64_t i = 0; i < 4; ++i) CHECK(at(wide, head * 7 + i) == at(narrow, head * 4 + i));
    for (std::int64_t i = 0; i < 3; ++i) CHECK(at(wide, head * 7 + 4 + i) == at(rest, head * 3 + i));
  }
}

}  // namespace
}  // namespace servetwin::attention_options_test
