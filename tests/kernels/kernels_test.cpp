// If these fail, an operation computes something else than its formula, or threads change a result.
#include <cmath>
#include <numeric>
#include <span>
#include <vector>

#include "engine/base/rng.h"
#include "kernels/activation/silu_and_mul.h"
#include "kernels/attention/paged_attention.h"
#include "kernels/embedding/embedding.h"
#include "kernels/embedding/embedding_cost.h"
#include "kernels/gemm/matmul.h"
#include "kernels/norm/rms_norm.h"
#include "kernels/rotary/rotary.h"
#include "kernels/thread_team.h"
#include "tests/kernels/kernel_inputs.h"
#include "tests/support/catch.h"

namespace servetwin::kernels_test {
namespace {

WeightMatrix f32_view(const std::vector<float>& values, std::int64_t columns) {
  const auto rows = static_cast<std::int64_t>(values.size()) / columns;
  return {DType::kF32, rows, columns, std::as_bytes(std::span(values)).data()};
}

TEST_CASE("a team covers every index once, whatever its size and the count") {
  for (const int size : {1, 2, 3, 5}) {
    ThreadTeam team(size);
    CHECK(team.size() == size);
    for (const std::int64_t count : {0, 1, 2, 4, 7, 100}) {
      CAPTURE(size, count);
      std::vector<int> seen(static_cast<std::size_t>(count), 0);
      team.for_ranges(count, [&](std::int64_t first, std::int64_t end) {
        for (std::int64_t i = first; i < end; ++i) ++seen[static_cast<std::size_t>(i)];
      });
      CHECK(std::all_of(seen.begin(), seen.end(), [](int times) { return times == 1; }));
    }
  }
}

TEST_CASE("embedding gathers rows and counts their bytes") {
  const std::vector<float> table = noise(1, 5 * 3);
  const std::int32_t ids[] = {4, 0, 4};
  std::vector<float> out(9);
  embedding(f32_view(table, 3), ids, 3, out.data());
  for (std::int64_t i = 0; i < 9; ++i) CHECK(at(out, i) == at(table, ids[i / 3] * 3 + i % 3));
  CHECK(embedding_work(3, 8, 4, 2).bytes == 3 * (8 * 6 + 4));
  CHECK(embedding_work(3, 8, 4, 2).flops == 0);
}

TEST_CASE("matmul is the sum of products plus bias, with the same bits for every team and batch") {
  const std::vector<float> input = noise(2, 5 * 19);
  const std::vector<float> weight = noise(3, 7 * 19);
  const std::vector<float> bias = noise(4, 7);
  ThreadTeam one(1);
  ThreadTeam three(3);
  std::vector<float> out(35);
  std::vector<float> other(35);
  std::vector<float> alone(7);
  matmul({f32_view(weight, 19), bias.data(), out.data()}, 5, input.data(), one);
  matmul({f32_view(weight, 19), bias.data(), other.data()}, 5, input.data(), three);
  CHECK(out == other);
  for (std::int64_t row = 0; row < 5; ++row) {
    for (std::int64_t column = 0; column < 7; ++column) {
      double sum = at(bias, column);
      for (std::int64_t i = 0; i < 19; ++i) sum += at(input, row * 19 + i) * at(weight, column * 19 + i);
      CHECK(at(out, row * 7 + column) == Approx(sum).epsilon(1e-5).margin(1e-6));
    }
    matmul({f32_view(weight, 19), bias.data(), alone.data()}, 1, input.data() + row * 19, three);
    CHECK(std::equal(alone.begin(), alone.end(), out.begin() + row * 7));
  }
  matmul({f32_view(weight, 19), nullptr, out.data()}, 5, input.data(), one);
  CHECK(at(out, 3) + at(bias, 3) == Approx(at(other, 3)).epsilon(1e-5));
}

TEST_CASE("rms_norm divides by the root of the mean square, and the fused form adds first") {
  const std::vector<float> x = noise(5, 2 * 11);
  const std::vector<float> y = noise(6, 2 * 11);
  const std::vector<float> weight = noise(7, 11);
  const RmsNormOptions options{2, 11, 1e-3F};
  std::vector<float> residual = y;
  std::vector<float> out(22);
  add_rms_norm(options, x.data(), residual.data(), weight.data(), out.data());
  for (std::int64_t row = 0; row < 2; ++row) {
    double squares = 0;
    for (std::int64_t i = 0; i < 11; ++i) squares += std::pow(at(x, row * 11 + i) + at(y, row * 11 + i), 2);
    const double scale = 1.0 / std::sqrt(squares / 11 + 1e-3);
    for (std::int64_t i = 0; i < 11; ++i) {
      const double sum = at(x, row * 11 + i) + at(y, row * 11 + i);
      CHECK(at(residual, row * 11 + i) == Approx(sum));
      CHECK(at(out, row * 11 + i) == Approx(sum * scale * at(weight, i)).epsilon(1e-5));
    }
  }
}

TEST_CASE("silu_and_mul gates") {
  std::vector<float> gate{0.0F, 1.0F, -2.0F, 30.0F, -200.0F};
  const std::vector<float> up{3.0F, 2.0F, 1.0F, 1.0F, 1.0F};
  silu_and_mul(gate.data(), up.data(), 5);
  CHECK(gate[0] == 0.0F);
  CHECK(at(gate, 1) == Approx(2.0 / (1.0 + std::exp(-1.0))));
  CHECK(at(gate, 2) == Approx(-2.0 / (1.0 + std::exp(2.0))));
  CHECK(at(gate, 3) == Approx(30.0));
  CHECK(at(gate, 4) == Approx(0.0).margin(1e-30));
}

TEST_CASE("rotary turns pairs by position, in both layouts, and keeps their lengths") {
  RotaryOptions options;
  options.head_dim = 4;
  options.theta = 100;
  const RotaryFrequencies frequencies = rotary_frequencies(options);
  REQUIRE(frequencies.speeds.size() == 2);
  CHECK(at(frequencies.speeds, 0) == 1.0);
  CHECK(at(frequencies.speeds, 1) == Approx(0.1));
  const std::int32_t positions[] = {0, 3};
  std::vector<float> neox{1, 2, 3, 4, 1, 2, 3, 4};
  rotary(frequencies, RotaryLayout::kNeox, positions, 2, RotatedHeads{neox.data(), 1, 4});
  CHECK(neox[0] == 1.0F);
  CHECK(at(neox, 4) == Approx(std::cos(3.0) - 3 * std::sin(3.0)));
  CHECK(at(neox, 6) == Approx(3 * std::cos(3.0) + std::sin(3.0)));
  CHECK(at(neox, 5) == Approx(2 * std::cos(0.3) - 4 * std::sin(0.3)));
  std::vector<float> interleaved{1, 3, 2, 4};
  rotary(frequencies, RotaryLayout::kInterleaved, positions + 1, 1, RotatedHeads{interleaved.data(), 1, 4});
  CHECK(interleaved == std::vector<float>{neox[4], neox[6], neox[5], neox[7]});
}

TEST_CASE("stretched rotary embeddings slow the slow pairs down by the factor and keep the fast ones") {
  RotaryOptions options;
  options.head_dim = 64;
  options.factor = 8;
  options.original_max_position = 1024;
  const RotaryFrequencies plain = rotary_frequencies(options);
  const auto ratio = [&](RotaryScaling scaling, std::int64_t pair) {
    options.scaling = scaling;
    return at(plain.speeds, pair) / at(rotary_frequencies(options).speeds, pair);
  };
  CHECK(ratio(RotaryScaling::kLinear, 0) == Approx(8));
  CHECK(ratio(RotaryScaling::kLinear, 31) == Approx(8));
  CHECK(ratio(RotaryScaling::kNtk, 0) == Approx(1));
  CHECK(ratio(RotaryScaling::kNtk, 31) == Approx(8));
  options.max_position = 1024;
  CHECK(ratio(RotaryScaling::kDynamicNtk, 31) == Approx(1));
  options.max_position = 2048;  // 8 · 2 − 7
  CHECK(ratio(RotaryScaling::kDynamicNtk, 31) == Approx(9));
  CHECK(ratio(RotaryScaling::kLlama3, 0) == Approx(1));
  CHECK(ratio(RotaryScaling::kLlama3, 31) == Approx(8));
  CHECK(ratio(RotaryScaling::kYarn, 0) == Approx(1));
  CHECK(ratio(RotaryScaling::kYarn, 31) == Approx(8));
  CHECK(static_cast<double>(rotary_frequencies(options).magnitude) == Approx(0.1 * std::log(8.0) + 1));
}

// Softmax attention of one query head, in double, over keys that lie in a row.
std::vector<double> plain_attention(const std::vector<float>& query,
                                    const std::vector<float>& keys,
                                    const std::vector<float>& values,
                                    std::int64_t dim,
                                    std::int64_t length) {
  std::vector<double> scores;
  for (std::int64_t k = 0; k < length; ++k) {
    double score = 0;
    for (std::int64_t i = 0; i < dim; ++i) score += at(query, i) * at(keys, k * dim + i);
    scores.push_back(std::exp(score / std::sqrt(static_cast<double>(dim))));
  }
  const double total = std::accumulate(scores.begin(), scores.end(), 0.0);
  std::vector<double> out(static_cast<std::size_t>(dim), 0.0);
  for (std::int64_t k = 0; k < length; ++k) {
    for (std::int64_t i = 0; i < dim; ++i) {
      out[static_cast<std::size_t>(i)] +=
          scores[static_cast<std::size_t>(k)] / total * at(values, k * dim + i);
    }
  }
  return out;
}

TEST_CASE("paged attention is softmax attention over the blocks' keys, for MHA, GQA and MQA") {
  constexpr std::int64_t kDim = 6;
  constexpr std::int64_t kKeys = 131;  // three tiles
  constexpr std::int64_t kBlock = 4;
  constexpr std::int64_t kHeads = 4;
  for (const std::int64_t kv_heads : {1, 2, 4}) {
    CAPTURE(kv_heads);
    std::vector<float> cache_keys(static_cast<std::size_t>(40 * kBlock * kv_heads * kDim), NAN);
    std::vector<float> cache_values = cache_keys;
    const PagedCache cache{cache_keys.data(), cache_values.data(), kBlock, kv_heads, kDim};
    const std::vector<float> keys = noise(10, kKeys * kv_heads * kDim);
    const std::vector<float> values = noise(11, kKeys * kv_heads * kDim);
    std::vector<std::int32_t> table;
    std::vector<std::int64_t> slots;
    for (std::int32_t i = 0; i < 33; ++i) table.push_back(39 - i);
    for (std::int64_t p = 0; p < kKeys; ++p) {
      slots.push_back(table[static_cast<std::size_t>(p / kBlock)] * kBlock + p % kBlock);
    }
    store_keys_values(cache, keys.data(), values.data(), slots.data(), kKeys);
    const std::int32_t cu_seqlens[] = {0, 3};
    const std::int32_t seq_lens[] = {static_cast<std::int32_t>(kKeys)};
    const std::int64_t starts[] = {0};
    const std::vector<float> queries = noise(12, 3 * kHeads * kDim);
    std::vector<float> out(queries.size());
    std::vector<float> other(queries.size());
    ThreadTeam one(1);
    ThreadTeam two(2);
    const RaggedRows rows{1, cu_seqlens, seq_lens, table.data(), starts};
    paged_attention(cache, rows, {kHeads}, queries.data(), out.data(), one);
    paged_attention(cache, rows, {kHeads}, queries.data(), other.data(), two);
    CHECK(out == other);
    for (std::int64_t token = 0; token < 3; ++token) {
      for (std::int64_t head = 0; head < kHeads; ++head) {
        const std::int64_t kv = head / (kHeads / kv_heads);
        std::vector<float> own_keys;
        std::vector<float> own_values;
        for (std::int64_t i = 0; i < kKeys * kDim; ++i) {
          const auto from = static_cast<std::size_t>((i / kDim * kv_heads + kv) * kDim + i % kDim);
          own_keys.push_back(keys[from]);
          own_values.push_back(values[from]);
        }
        const auto query = queries.begin() + (token * kHeads + head) * kDim;
        const auto expected =
            plain_attention({query, query + kDim}, own_keys, own_values, kDim, kKeys - 2 + token);
        for (std::int64_t i = 0; i < kDim; ++i) {
          CHECK(at(out, (token * kHeads + head) * kDim + i) ==
                Approx(expected[static_cast<std::size_t>(i)]).epsilon(1e-4).margin(1e-5));
        }
      }
    }
  }
}

TEST_CASE("a negative slot is not written") {
  std::vector<float> keys(8, 0.0F);
  std::vector<float> values(8, 0.0F);
  const PagedCache cache{keys.data(), values.data(), 4, 1, 1};
  const std::vector<float> rows{1.0F, 2.0F};
  const std::int64_t slots[] = {-1, 5};
  store_keys_values(cache, rows.data(), rows.data(), slots, 2);
  CHECK(keys == std::vector<float>{0, 0, 0, 0, 0, 2, 0, 0});
}

}  // namespace
}  // namespace servetwin::kernels_test
