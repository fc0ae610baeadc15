// Checks what can run, then puts weights, runners and backend together.
#include "scenarios/live_world.h"

#include <memory>
#include <utility>
#include <vector>

#include "engine/base/unit_text.h"
#include "engine/live/live_backend.h"
#include "engine/models/computable.h"
#include "scenarios/config_tree.h"
#include "scenarios/model_source.h"
#include "scenarios/rank_share.h"

namespace servetwin {
namespace {

constexpr const char* kNotLive = "CFG401";
constexpr int kMostRanks = 64;
constexpr Bytes kMaxMemory{std::int64_t{8} << 30U};  // weights and KV blocks of all replicas

DType kv_dtype(const Scenario& scenario) { return scenario.spec().engine.kv_dtype.value_or(DType::kF32); }

class LiveCheck {
 public:
  LiveCheck(const Scenario& scenario, const SplitLayout& layout) : scenario_(scenario), layout_(layout) {}

  std::vector<Problem> problems() {
    const ScenarioSpec& spec = scenario_.spec();
    const std::string reason = why_not_computed(scenario_.model);
    if (!reason.empty()) add("spec.model", reason, kComputedFamilies);
    const std::string missing = why_no_weights(spec.model);
    if (!missing.empty()) {
      add("spec.model", missing,
          "name a folder with config.json and safetensors, a GGUF file, or servetwin/tiny-llama-random");
    }
    if (spec.layout.pp != 1) add("spec.layout.pp", "pipeline stages are not live yet", "pp 1");
    const std::string uneven = why_not_split(scenario_.model, ranks(), layout_);
    if (!uneven.empty())
      add("spec.layout.tp", uneven, "use " + ranks_that_split(scenario_.model, kMostRanks, layout_));
    if (ranks() == 1 && layout_.sequence_parallel)
      add("spec.layout.tp", "one rank has nobody to share tokens or experts with", "use 2 or more");
    if (!is_kv_dtype(kv_dtype(scenario_))) {
      add("spec.engine.kv_dtype", std::string("a live cache does not hold ") + name_of(kv_dtype(scenario_)),
          kKvDtypeNames);
    }
    if (spec.engine.kv_scales.value_or(KvScales::kTokenHead) != KvScales::kTokenHead)
      add("spec.engine.kv_scales", "each vector of a live cache has its own scale", "token_head");
    if (spec.engine.streaming.window.value > 0) {
      add("spec.engine.streaming", "a live cache does not turn its keys again as the window rolls",
          "leave it out, or simulate it");
    }
    if (spec.initial.kv_cache != "cold") add("spec.initial.kv_cache", "a live cache starts cold", "cold");
    if (spec.front_end.takes_time()) {
      add("spec.front_end", "times of a front end are simulated, and a live run takes its own",
          "leave them out");
    }
    if (scenario_.slow_readers_pause()) {
      add("spec.front_end.slow_reader", "clients of a live workload read at once", "merge");
    }
    if (scenario_.model.max_position < scenario_.max_model_len().value) {
      add("spec.engine.max_model_len", "is longer than the model's context",
          "at most " + std::to_string(scenario_.model.max_position));
    }
    const Bytes memory = needed();
    if (memory > kMaxMemory) {
      add("spec.engine.num_blocks",
          "weights and KV blocks, those of the host tier included, take " + std::to_string(memory.value) +
              " bytes in f32",
          "at most " + std::to_string(kMaxMemory.value) + "; set engine.num_blocks and host_blocks");
    }
    return std::move(problems_);
  }

 private:
  void add(const char* path, std::string message, std::string remedy) {
    problems_.push_back(
        {kNotLive, nearest_place(scenario_.resolved, path), path, std::move(message), std::move(remedy)});
  }

  int ranks() const { return static_cast<int>(scenario_.spec().layout.tp); }

  Bytes needed() const {
    const EngineConfig& engine = scenario_.spec().engine.config;
    const Blocks all = scenario_.num_blocks() + engine.host_blocks;
    const Bytes blocks = KvPool::bytes(scenario_.model, all, engine.block_size, kv_dtype(scenario_),
                                       scenario_.kv_groups.layout, ranks()) *
                         ranks();
    return Bytes{4 * parameter_count(scenario_.model)} + blocks * scenario_.spec().replicas;
  }

  const Scenario& scenario_;
  SplitLayout layout_;
  std::vector<Problem> problems_;
};

}  // namespace

void check_live(const Scenario& scenario, const SplitLayout& layout) {
  std::vector<Problem> problems = LiveCheck(scenario, layout).problems();
  if (!problems.empty()) throw ConfigError(std::move(problems));
}

LiveWorld::LiveWorld(const Scenario& scenario, LiveWorldOptions options)
    : scenario_(scenario), options_(std::move(options)) {
  check_live(scenario, options_.layout);
  if (!options_.kv_cache && !scenario.kv_groups.retention.empty()) {
    constexpr const char* kPath = "spec.engine.sliding_window";
    throw ConfigError(Problem{kNotLive, nearest_place(scenario.resolved, kPath), kPath,
                              "without a KV cache each step computes whole sequences, and windows give parts "
                              "of them back",
                              "write keep_all"});
  }
  const auto seed = static_cast<std::uint64_t>(scenario.spec().seed);
  weights_ = SplitWeights(scenario.model, named_weights(scenario.spec().model, scenario.model, seed), ranks(),
                          options_.layout);
}

std::string describe_live(const std::string& model, DType kv_dtype, const LiveRanks& ranks) {
  const std::string threads = std::to_string(ranks.threads) + (ranks.threads == 1 ? " thread" : " threads");
  std::string text = "live: " + model + " in f32 on the CPU, KV cache in " + name_of(kv_dtype) + ", ";
  if (ranks.ranks > 1) text += std::to_string(ranks.ranks) + " tensor-parallel ranks of ";
  text += threads + " a replica";
  if (ranks.layout.sequence_parallel) text += ", sequence parallel";
  if (ranks.layout.expert_parallel) text += ", expert parallel";
  return text;
}

std::string LiveWorld::describe(const RunParts& /*parts*/) const {
  return describe_live(scenario_.model.name, kv_dtype(scenario_),
                       {ranks(), options_.threads, options_.layout}) +
         (options_.kv_cache ? "" : ", which no step reads: each computes whole sequences");
}

std::string LiveWorld::ranks_text() const {
  const Bytes cache =
      KvPool::bytes(scenario_.model, scenario_.num_blocks(), scenario_.spec().engine.config.block_size,
                    kv_dtype(scenario_), scenario_.kv_groups.layout, ranks());
  return rank_share_text(scenario_.model, {ranks(), options_.layout}, stored_bytes(weights_.parts().front()),
                         cache);
}

WorldOutcome LiveWorld::serve(Cluster& cluster,
                              RunParts& parts,
                              JournalWriter* journal,
                              const volatile bool* stop) {
  ContentText text(static_cast<std::uint64_t>(scenario_.spec().seed), scenario_.model.vocab);
  const EngineConfig& engine = scenario_.spec().engine.config;
  RunnerOptions sizes;
  sizes.block_size = engine.block_size;
  sizes.num_blocks = scenario_.num_blocks();
  sizes.max_model_len = scenario_.max_model_len();
  sizes.threads = options_.threads;
  sizes.kv_dtype = kv_dtype(scenario_);
  sizes.host_blocks = engine.host_blocks;
  sizes.kv_cache = options_.kv_cache;
  sizes.kv_layout = scenario_.kv_groups.layout;
  std::vector<std::unique_ptr<ModelRunner>> runners;
  const std::ptrdiff_t threads = std::ptrdiff_t{options_.threads} * ranks();
  sizes.deadline = options_.deadline;
  sizes.layout = options_.layout;
  for (std::size_t i = 0; i < cluster.num_replicas(); ++i) {
    sizes.name = "replica " + std::to_string(i);
    if (options_.on_rank_step) {
      sizes.on_step = [this, i](int rank, StepId step) { options_.on_rank_step(i, rank, step); };
    }
    if (!options_.cpus.empty()) {
      const auto first = options_.cpus.begin() + static_cast<std::ptrdiff_t>(i) * threads;
      sizes.cpus.assign(first, first + threads);
    }
    runners.push_back(
        std::make_unique<ModelRunner>(scenario_.model, weights_.parts(), sizes, text, options_.sink));
  }
  LiveOptions live;
  live.sampling = options_.sampling;
  live.journal = journal;
  live.stop = stop;
  live.on_result = options_.on_result;
  LiveBackend backend(*parts.source, std::move(runners), text, live);
  backend.attach(cluster);
  servetwin::serve(cluster, backend);
  if (!backend.interrupted()) {
    flops_ = backend.flops();
    collectives_ = backend.collectives();
  }
  return {backend.interrupted(), backend.num_steps()};
}

}  // namespace servetwin
