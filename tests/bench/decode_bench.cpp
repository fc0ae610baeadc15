// Every step gives each sequence one token; the figure is the median step, beside what memory can deliver.
#include "tests/bench/decode_bench.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "engine/models/checkpoints/weight_source.h"
#include "kernels/vectors/dispatch.h"
#include "tests/live/live_model_rig.h"

namespace servetwin {
namespace {

constexpr std::int64_t kPrompt = 16;

struct Settings {
  std::string model;
  int threads = 2;
  int steps = 100;
  std::vector<int> batches{1, 8};
};

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// a = b + s · c over arrays far larger than caches: bytes a second, of the best of ten rounds.
double triad_bandwidth(int threads) {
  constexpr std::int64_t kSize = 1 << 24;
  std::vector<double> a(kSize, 1.0);
  const std::vector<double> b(kSize, 2.0);
  const std::vector<double> c(kSize, 3.0);
  ThreadTeam team(threads);
  double best = 1e9;
  for (int round = 0; round < 10; ++round) {
    best =
        std::min(best, seconds_of([&] {
                   team.for_ranges(kSize, [&](std::int64_t first, std::int64_t end) {
                     for (auto i = static_cast<std::size_t>(first); i < static_cast<std::size_t>(end); ++i) {
                       a[i] = b[i] + 0.5 * c[i];
                     }
                   });
                 }));
  }
  return 3.0 * sizeof(double) * static_cast<double>(kSize) / best;
}

// What a step reads of the weights, whatever the batch.
double weight_bytes_read(const ModelWeights& weights) {
  std::size_t bytes = weights.output_head().bytes.size();
  for (const LayerWeights& layer : weights.layers) {
    for (const StoredMatrix* matrix : {&layer.query, &layer.key, &layer.value, &layer.output,
                                       &layer.dense.gate, &layer.dense.up, &layer.dense.down}) {
      bytes += matrix->bytes.size();
    }
  }
  return static_cast<double>(bytes);
}

double median_step(const ModelSpec& spec, const ModelWeights& weights, const Settings& settings, int batch) {
  std::vector<std::vector<TokenId>> sequences;
  std::vector<RigRow> rows;
  for (int i = 0; i < batch; ++i) {
    std::vector<TokenId>& tokens = sequences.emplace_back();
    for (std::int64_t t = 0; t < kPrompt + settings.steps; ++t) {
      tokens.push_back(static_cast<TokenId>((t * 7919 + i * 104'729) % spec.vocab));
    }
    rows.push_back({i, kPrompt});
  }
  ModelRig rig(spec, weights, sequences, 16, settings.threads);
  rig.step(rows);
  for (RigRow& row : rows) row.tokens = 1;
  std::vector<double> seconds;
  for (int step = 0; step < settings.steps; ++step) seconds.push_back(seconds_of([&] { rig.step(rows); }));
  return median(seconds);
}

Settings parse(int count, char** words) {
  Settings settings;
  for (int i = 0; i < count; ++i) {
    const auto is = [&](const char* name) { return std::strcmp(words[i], name) == 0 && i + 1 < count; };
    if (is("--threads"))
      settings.threads = std::max(1, std::atoi(words[++i]));
    else if (is("--steps"))
      settings.steps = std::clamp(std::atoi(words[++i]), 1, 200);
    else if (is("--batch"))
      settings.batches = {std::max(1, std::atoi(words[++i]))};
    else
      settings.model = words[i];
  }
  return settings;
}

}  // namespace

int decode_bench(int count, char** words) {
  const Settings settings = parse(count, words);
  if (settings.model.empty()) {
    std::fprintf(stderr, "bench decode MODEL [--threads N] [--steps N] [--batch N]\n");
    return 2;
  }
  try {
    const WeightSource source = open_weights(settings.model);
    const ModelWeights weights = load_weights(source);
    const double bytes = weight_bytes_read(weights);
    const double bandwidth = triad_bandwidth(settings.threads);
    std::printf("%s, %d threads, triad %.1f GB/s, weights %.1f MB a step\n", vector_kernels().name,
                settings.threads, bandwidth * 1e-9, bytes * 1e-6);
    for (const int batch : settings.batches) {
      const double step = median_step(source.spec(), weights, settings, batch);
      std::printf(
          "batch %d: %.2f ms a step, %.1f tokens/s, %.2f MB of weights a token, %.1f GB/s, %.0f %% of "
          "triad\n",
          batch, step * 1e3, batch / step, bytes * 1e-6 / batch, bytes / step * 1e-9,
          100.0 * bytes / step / bandwidth);
    }
  } catch (const ConfigError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
  return 0;
}

}  // namespace servetwin
