// A core, a tiny model and a live backend, driven by submissions from outside and by an optional source.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "engine/base/registry.h"
#include "engine/live/live_backend.h"
#include "engine/serving/preset.h"
#include "tests/support/tiny_llama.h"

namespace servetwin {

inline ModelSpec bench_spec() { return tiny_llama(40, 4096); }

class NoTraffic : public RequestSource {
 public:
  Time next_arrival() override { return kTimeNever; }
  void take(WorkloadItem& /*item*/) override {}
  std::string describe() const override { return "none"; }
  SourceFacts facts() const override { return {}; }
};

// What reached the core, in order, and every answer.
class BenchLog final : public Observer {
 public:
  void on_event(const StampedEvent& event) override { events.push_back(event); }
  void on_plan(const StepPlan& plan) override { plans.push_back(plan); }
  void on_end(const RequestRecord& record) override { ends.push_back(record); }

  std::vector<StampedEvent> events;
  std::vector<StepPlan> plans;
  std::vector<RequestRecord> ends;
};

class LiveBench {
 public:
  explicit LiveBench(const EngineConfig& engine, ModelRunner::Sink sink = {}, RequestSource* source = nullptr)
      : engine_(completed(engine)),
        weights_(random_weights(bench_spec(), 3)),
        text_(3, bench_spec().vocab),
        cluster_({{engine_}, 0},
                 [] { return make_rules(RuleNames{}); },
                 Registry<Router>::instance().make("round_robin", ConfigNode{}),
                 {&log}) {
    std::vector<std::unique_ptr<ModelRunner>> runners;
    const RunnerOptions sizes{engine_.block_size, engine_.num_blocks, engine_.max_model_len, 1,
                              DType::kF32,        engine_.host_blocks};
    runners.push_back(std::make_unique<ModelRunner>(bench_spec(), weights_, sizes, text_, std::move(sink)));
    LiveOptions options;
    options.accepts_clients = source == nullptr;
    options.max_inbox = 64;
    RequestSource& traffic = source != nullptr ? *source : none_;
    backend_ = std::make_unique<LiveBackend>(traffic, std::move(runners), text_, options);
    backend_->attach(cluster_);
  }

  static Submission submission(std::uint32_t id, std::int64_t prompt, std::int64_t max_tokens) {
    Submission one;
    one.spec.id = RequestId{id};
    one.spec.prompt = Tokens{prompt};
    one.spec.max_tokens = Tokens{max_tokens};
    for (std::int64_t i = 0; i < prompt; ++i) one.prompt.push_back(static_cast<TokenId>((i * 7 + id) % 40));
    return one;
  }

  void serve_all() { serve(cluster_, *backend_); }
  Cluster& cluster() { return cluster_; }

  LiveBackend& backend() { return *backend_; }

  BenchLog log;

 private:
  static EngineConfig completed(EngineConfig engine) {
    engine.plain_loop = true;
    if (engine.max_model_len.value == 0) engine.max_model_len = Tokens{256};
    if (engine.num_blocks.value == 0) engine.num_blocks = Blocks{100};
    return engine;
  }

  EngineConfig engine_;
  ModelWeights weights_;
  ContentText text_;
  NoTraffic none_;
  Cluster cluster_;
  std::unique_ptr<LiveBackend> backend_;  // goes before the cluster
};

}  // namespace servetwin
