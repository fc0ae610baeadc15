// Speed of the simulation core: one replica of an 8-billion-parameter model, conversation-shaped requests,
// metrics and digests on. Prints figures; nothing here passes or fails.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <sys/resource.h>

#include "costmodels/cost_model.h"
#include "engine/base/digest.h"
#include "engine/base/registry.h"
#include "engine/metrics/recorder.h"
#include "engine/serving/cluster.h"
#include "engine/serving/preset.h"
#include "engine/workload/workload_spec.h"
#include "scenarios/assemble.h"
#include "scenarios/scenario.h"
#include "sim/backend/sim_backend.h"
#include "tests/bench/collectives_bench.h"
#include "tests/bench/decode_bench.h"
#include "tests/bench/vidur_bench.h"

using namespace servetwin;

namespace {

// The options of the command line, --requests N to --replicas K.
struct Settings {
  long requests = 1'000'000;
  double load = 0.7;
  double rate = 0;  // overrides load
  long block_size = 16;
  std::string cost = "linear";
  bool plain = false;
  bool cache = true;
  bool metrics = true;
  int replicas = 1;
};

struct Figures {
  double seconds = 0;
  std::uint64_t steps = 0;
  std::size_t most_in_flight = 0;
  std::uint64_t timeline = 0;
  double simulated_seconds = 0;
};

// The reference cost of the figures: 6.5 ms + 25 us a token + 48.9 ns a token of context.
std::string scenario_text(const Settings& s, const std::string& arrivals, long requests) {
  const long tokens_of_kv = 27'000L * 16;
  const std::string cost = s.cost == "linear"
                               ? "{model: linear, base: 6500us, per_token_ns: 25000, per_context_ns: 48.9}"
                               : "{model: " + s.cost + "}";
  return "apiVersion: servetwin/v1\nkind: Scenario\nmetadata: {name: bench}\nspec:\n"
         "  model: meta-llama/Llama-3.1-8B\n  device: h100-sxm\n  replicas: " +
         std::to_string(s.replicas) +
         "\n  layout: {tp: 1}\n  engine: {preset: vllm-v1, max_num_seqs: 256, "
         "max_num_batched_tokens: 2048, max_model_len: 16384, block_size: " +
         std::to_string(s.block_size) + ", num_blocks: " + std::to_string(tokens_of_kv / s.block_size + 1) +
         ", prefix_caching: " + (s.cache ? "true" : "false") + "}\n  workload: {arrivals: " + arrivals +
         ", lengths: {table: azure-2023-conversation}, num_requests: " + std::to_string(requests) +
         "}\n  router: round_robin\n  cost: " + cost + "\n  seed: 1\n";
}

Figures run(const Settings& s, const std::string& arrivals, long requests) {
  const Scenario scenario = parse_scenario(scenario_text(s, arrivals, requests), "bench");
  RunParts parts = assemble(scenario);
  for (EngineConfig& engine : parts.cluster.replicas) engine.plain_loop = s.plain;
  parts.sim.shortcut = !s.plain;
  Recorder recorder(parts.recorder);
  std::vector<Observer*> observers;
  if (s.metrics) observers.push_back(&recorder);
  Cluster cluster(parts.cluster, parts.make_rules, std::move(parts.router), observers);
  SimBackend backend(*parts.source, {parts.cost.get()}, parts.sim);
  backend.attach(cluster);
  const auto start = std::chrono::steady_clock::now();
  Time end = kTimeZero;
  std::size_t most = 0;
  StampedEvent event;
  while (backend.next(event)) {
    cluster.handle(event, backend);
    end = event.time;
    most = std::max(most, cluster.unfinished());
  }
  Figures figures;
  figures.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  figures.steps = backend.num_steps();
  figures.most_in_flight = most;
  figures.timeline = cluster.timeline_digest();
  figures.simulated_seconds = to_seconds(end);
  return figures;
}

Settings parse(int count, char** words) {
  Settings s;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    const auto value = [&] {
      if (i + 1 == count) std::exit((std::fprintf(stderr, "%s needs a value\n", word.c_str()), 2));
      return words[++i];
    };
    if (word == "--requests")
      s.requests = std::atol(value());
    else if (word == "--load")
      s.load = std::atof(value());
    else if (word == "--rate")
      s.rate = std::atof(value());
    else if (word == "--block-size")
      s.block_size = std::atol(value());
    else if (word == "--cost")
      s.cost = value();
    else if (word == "--replicas")
      s.replicas = std::atoi(value());
    else if (word == "--plain")
      s.plain = true;
    else if (word == "--no-cache")
      s.cache = false;
    else if (word == "--no-metrics")
      s.metrics = false;
    else
      std::exit((std::fprintf(stderr, "unknown option %s\n", word.c_str()), 2));
  }
  return s;
}

}  // namespace

int main(int count, char** words) {
  if (count > 1 && std::strcmp(words[1], "decode") == 0) return decode_bench(count - 2, words + 2);
  if (count > 1 && std::strcmp(words[1], "collectives") == 0) return collectives_bench(count - 2, words + 2);
  if (count > 1 && std::strcmp(words[1], "vidur") == 0) return vidur_bench(count - 2, words + 2);
  const Settings s = parse(count, words);
  double rate = s.rate;
  if (rate == 0) {
    // Capacity: what the same replicas finish a second when everything is there from the start.
    const long offline = 4000;
    const double capacity = static_cast<double>(offline) / run(s, "all_at_once", offline).simulated_seconds;
    rate = s.load * capacity;
    std::printf("capacity %.2f requests/s, rate %.2f requests/s\n", capacity, rate);
  }
  const Figures f = run(s, "{process: poisson, rate: " + std::to_string(rate) + "/s}", s.requests);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const double n = static_cast<double>(s.requests);
  std::printf("requests %ld steps %llu seconds %.3f\n", s.requests, static_cast<unsigned long long>(f.steps),
              f.seconds);
  std::printf("%.0f requests/s %.0f steps/s %.1f ns/step %.1f ns/request\n", n / f.seconds,
              static_cast<double>(f.steps) / f.seconds, 1e9 * f.seconds / static_cast<double>(f.steps),
              1e9 * f.seconds / n);
  std::printf("in flight at most %zu, state %zu bytes each, process %ld KiB, timeline %s\n", f.most_in_flight,
              sizeof(RequestState), usage.ru_maxrss, to_hex(f.timeline).c_str());
  return 0;
}
