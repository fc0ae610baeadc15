// Prints a digest per scenario and per function, one a line: every compiler, optimisation and processor must
// print the same. Exits with 1 where the shortcut decides or times anything otherwise than the plain loop.
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "costmodels/cost_model.h"
#include "engine/base/det_math.h"
#include "engine/base/registry.h"
#include "engine/base/samplers.h"
#include "engine/serving/cluster.h"
#include "engine/serving/preset.h"
#include "engine/workload/workload_spec.h"
#include "sim/backend/sim_backend.h"

namespace servetwin {
namespace {

ConfigNode scalar(const std::string& text) {
  ConfigNode node;
  node.kind = ConfigNode::Kind::kScalar;
  node.text = text;
  return node;
}

ConfigNode map_of(std::vector<std::pair<std::string, ConfigNode>> entries) {
  ConfigNode node;
  node.kind = ConfigNode::Kind::kMap;
  node.entries = std::move(entries);
  return node;
}

ConfigNode uniform(const char* low, const char* high) {
  return map_of({{"distribution", scalar("uniform")}, {"low", scalar(low)}, {"high", scalar(high)}});
}

struct Scenario {
  std::string name;
  EngineConfig config;
  RuleNames rules;
  ConfigNode workload;
  int replicas = 1;
  const char* router = "round_robin";
};

ConfigNode linear_cost() {
  return map_of({{"base", scalar("6.5ms")},
                 {"per_token_ns", scalar("25000.3")},
                 {"per_context_ns", scalar("48.9")},
                 {"per_pair_ns", scalar("0.013")},
                 {"per_sequence_ns", scalar("1700.7")}});
}

EngineConfig engine(std::int64_t num_blocks) {
  EngineConfig config;
  config.max_model_len = Tokens{4096};
  config.num_blocks = Blocks{num_blocks};
  config.max_num_seqs = 64;
  config.graph_sizes = {1, 2, 4, 8, 16, 32, 64};
  return config;
}

ConfigNode traffic(const char* process,
                   const char* rate,
                   std::vector<std::pair<std::string, ConfigNode>> more = {}) {
  std::vector<std::pair<std::string, ConfigNode>> entries = {
      {"num_requests", scalar("600")},
      {"arrivals", map_of({{"process", scalar(process)}, {"rate", scalar(rate)}})},
      {"lengths", map_of({{"table", scalar("azure-2023-conversation")}})}};
  for (auto& entry : more) entries.push_back(std::move(entry));
  return map_of(std::move(entries));
}

ConfigNode shared_prefixes() { return map_of({{"count", scalar("7")}, {"tokens", uniform("100", "900")}}); }

ConfigNode sessions() {
  return map_of(
      {{"turns", uniform("1", "5")}, {"think_time", map_of({{"mean", scalar("2s")}, {"cv", scalar("1")}})}});
}

ConfigNode two_classes() {
  ConfigNode classes;
  classes.kind = ConfigNode::Kind::kList;
  for (const char* priority : {"0", "1"}) {
    classes.items.push_back(
        map_of({{"name", scalar(std::string("class") + priority)}, {"priority", scalar(priority)}}));
  }
  return classes;
}

std::vector<Scenario> scenarios() {
  std::vector<Scenario> all;
  all.push_back({"plenty", engine(20'000), {}, traffic("poisson", "6/s")});
  all.push_back({"preemption", engine(700), {}, traffic("poisson", "6/s")});
  all.push_back(
      {"prefixes", engine(2'000), {}, traffic("poisson", "5/s", {{"shared_prefix", shared_prefixes()}})});
  all.push_back({"sessions", engine(2'000), {}, traffic("poisson", "2/s", {{"sessions", sessions()}})});
  all.push_back({"reserved", engine(2'000), {}, traffic("poisson", "6/s")});
  all.back().rules.admission = "conservative";
  all.push_back({"priority", engine(700), {}, traffic("poisson", "6/s", {{"classes", two_classes()}})});
  all.back().rules = {"priority", "running_first", "optimistic", "least_important"};
  all.push_back({"swap", engine(700), {}, traffic("poisson", "6/s")});
  all.back().config.host_blocks = Blocks{500};
  all.back().rules.pressure = "swap";
  all.push_back({"three replicas", engine(700), {}, traffic("poisson", "15/s"), 3, "late_binding"});
  for (const bool speculate : {false, true}) {
    all.push_back({speculate ? "two in flight, ahead of outputs" : "two in flight",
                   engine(700),
                   {},
                   traffic("poisson", "6/s")});
    all.back().config.in_flight = {2, speculate};
  }
  return all;
}

struct Digests {
  std::uint64_t decisions = 0;
  std::uint64_t timeline = 0;
  friend bool operator==(const Digests&, const Digests&) = default;
};

Digests run(const Scenario& scenario, bool plain) {
  const auto source = make_source(read_workload(scenario.workload, ""), 42);
  const auto cost = Registry<CostModel>::instance().make("linear", linear_cost(), CostContext{});
  SimOptions options;
  options.shortcut = !plain;
  options.swap_block_ns = 32'768.7;
  SimBackend backend(*source, {cost.get()}, options);
  ClusterConfig config;
  config.replicas.assign(static_cast<std::size_t>(scenario.replicas), scenario.config);
  for (EngineConfig& replica : config.replicas) replica.plain_loop = plain;
  Cluster cluster(config, [&] { return make_rules(scenario.rules); },
                  Registry<Router>::instance().make(scenario.router, ConfigNode{}), {});
  backend.attach(cluster);
  serve(cluster, backend);
  CHECK_INVARIANT(cluster.unfinished() == 0, cluster.unfinished());
  return {cluster.decisions_digest(), cluster.timeline_digest()};
}

void add(Digest& digest, double value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  digest.add(bits);
}

void print(const std::string& name, const Digest& digest) {
  std::printf("%s %s\n", to_hex(digest).c_str(), name.c_str());
}

template <class Function>
void sweep(const char* name, double low, double high, Function function) {
  Digest digest;
  for (std::uint32_t i = 0; i < 200'000; ++i) {
    const double unit = draw_unit({11, Stream::kTest, 1}, i);
    add(digest, function(low + (high - low) * unit));
  }
  print(name, digest);
}

template <class Sample>
void samples(const char* name, Sample sample) {
  Digest digest;
  for (std::uint32_t i = 0; i < 50'000; ++i)
    add(digest, static_cast<double>(sample(StreamKey{5, Stream::kTest, 2}, i)));
  print(name, digest);
}

void functions() {
  sweep("log", 0, 1e6, [](double x) { return det_log(x); });
  sweep("log near 1", 0.9, 1.1, [](double x) { return det_log(x); });
  sweep("exp", -700, 700, [](double x) { return det_exp(x); });
  sweep("pow", 0, 50, [](double x) { return det_pow(x, 3.7 - x); });
  sweep("log1p", -0.99, 5, [](double x) { return det_log1p(x); });
  sweep("log factorial", 0, 1e4,
        [](double x) { return det_log_factorial(static_cast<double>(static_cast<int>(x))); });
  sweep("normal quantile", 0, 1, [](double x) { return det_normal_quantile(x); });
  samples("exponential",
          [](const StreamKey& key, std::uint32_t i) { return sample_exponential(key, i, 3.3); });
  samples("normal", [](const StreamKey& key, std::uint32_t i) { return sample_normal(key, i, 1.5, 2.5); });
  samples("lognormal",
          [](const StreamKey& key, std::uint32_t i) { return sample_lognormal(key, i, 1.5, 0.7); });
  samples("gamma", [](const StreamKey& key, std::uint32_t i) { return sample_gamma(key, i, 0.4, 2.0); });
  samples("weibull", [](const StreamKey& key, std::uint32_t i) { return sample_weibull(key, i, 0.6, 2.0); });
  samples("poisson", [](const StreamKey& key, std::uint32_t i) { return sample_poisson(key, i, 40.5); });
  samples("uniform",
          [](const StreamKey& key, std::uint32_t i) { return sample_uniform_int(key, i, -3, 1000); });
}

int probe() {
  functions();
  int different = 0;
  for (const Scenario& scenario : scenarios()) {
    const Digests plain = run(scenario, true);
    const Digests fast = run(scenario, false);
    std::printf("%s %s %s\n", to_hex(plain.decisions).c_str(), to_hex(plain.timeline).c_str(),
                scenario.name.c_str());
    if (plain == fast) continue;
    std::printf("the shortcut differs: %s %s\n", to_hex(fast.decisions).c_str(),
                to_hex(fast.timeline).c_str());
    ++different;
  }
  return different == 0 ? 0 : 1;
}

}  // namespace
}  // namespace servetwin

int main() { return servetwin::probe(); }
