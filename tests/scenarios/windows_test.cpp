// If these fail, a scenario's model gives back KV that its engine keeps, or keeps what it gives back, or the
// pool is worked out for another layout than the one that is used.
#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>
#include <vector>

#include "scenarios/run.h"
#include "scenarios/scenario.h"
#include "tests/support/catch.h"

namespace servetwin::windows_test {
namespace {

// A folder with a config.json alone: 12 layers, with a window of 64 except where `every` says.
class ModelFolder {
 public:
  explicit ModelFolder(int every = 0)
      : path_(std::filesystem::temp_directory_path() / ("servetwin_windows_" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(path_);
    std::string types;
    for (int layer = 1; every > 0 && layer <= 12; ++layer) {
      types += layer == 1 ? R"(, "layer_types": [)" : ", ";
      types += layer % every == 0 ? R"("full_attention")" : R"("sliding_attention")";
    }
    if (!types.empty()) types += "]";
    std::ofstream(path_ / "config.json")
        << R"({"architectures": ["MistralForCausalLM"], "num_hidden_layers": 12, "hidden_size": 1024,
               "num_attention_heads": 8, "num_key_value_heads": 4, "intermediate_size": 2048,
               "vocab_size": 1000,
               "max_position_embeddings": 4096, "sliding_window": 64)"
        << types << "}";
  }
  ~ModelFolder() { std::filesystem::remove_all(path_); }
  ModelFolder(const ModelFolder&) = delete;
  ModelFolder& operator=(const ModelFolder&) = delete;

  Scenario scenario(const std::vector<std::string>& set) const { return scenario_of(path_.string(), set); }

  static Scenario scenario_of(const std::string& model, const std::vector<std::string>& set) {
    const std::string text = R"(apiVersion: servetwin/v1
kind: Scenario
metadata: {name: windows}
spec:
  model: )" + model + R"(
  device: h100-sxm
  engine: {num_blocks: 200, max_model_len: 2048, max_num_batched_tokens: 128}
  workload:
    arrivals: all_at_once
    num_requests: 4
    lengths: {input: 300, output: 600}
  cost: {model: linear, base: 1ms, per_token_ns: 1000, per_context_ns: 10}
)";
    return parse_scenario(text, "windows.yaml", {set, {}});
  }

 private:
  std::filesystem::path path_;
};

// "CODE path: message" of the first problem; empty if there is none.
std::string problem_of(const ModelFolder& model, const std::vector<std::string>& set) {
  try {
    model.scenario(set);
  } catch (const ConfigError& error) {
    const Problem& first = error.problems().front();
    return first.code + " " + first.path + ": " + first.message;
  }
  return "";
}

std::int64_t most_used(const Scenario& scenario) {
  class Peak final : public Observer {
   public:
    void on_plan(const StepPlan& plan) override { used = std::max(used, plan.used_blocks.value); }
    void on_end(const RequestRecord& record) override { ended += is_finished(record.end_state); }
    std::int64_t used = 0;
    std::int64_t ended = 0;
  };
  Peak peak;
  RunOptions options;
  options.observers = {&peak};
  const RunResult result = run_scenario(scenario, options);
  CHECK(peak.ended == 4);
  return peak.used;
}

TEST_CASE(
    "windows are given back under vLLM V1, and kept where another engine runs or the scenario says so") {
  const ModelFolder mistral;
  const auto groups = [&](const std::vector<std::string>& set) {
    return mistral.scenario(set).kv_groups.retention.size();
  };
  CHECK(groups({}) == 1);
  CHECK(groups({"engine.preset=vllm-v1-async"}) == 1);
  CHECK(groups({"engine.sliding_window=keep_all"}) == 0);
  CHECK(groups({"engine.max_model_len=64"}) == 0);  // nobody gets past it
  for (const char* preset : {"vllm-v0", "sglang", "sarathi", "trtllm-max-utilization", "llama-cpp"})
    CHECK(groups({std::string("engine.preset=") + preset, "engine.max_num_batched_tokens=2048"}) == 0);
  CHECK(groups({"engine.host_blocks=100", "engine.rules.pressure=swap"}) == 0);
  CHECK(problem_of(mistral,
                   {"engine.host_blocks=100", "engine.rules.pressure=swap", "engine.sliding_window=model"}) ==
        "CFG202 spec.engine.sliding_window: requests that are swapped out keep all of their KV");
  CHECK(problem_of(mistral, {"engine.preset=vllm-v0", "engine.max_num_batched_tokens=2048",
                             "engine.sliding_window=model"})
            .find("CFG202 spec.engine.sliding_window") == 0);
  CHECK(problem_of(mistral, {"engine.preset=trtllm-max-utilization", "engine.sliding_window=model"})
            .find("CFG202 spec.engine.sliding_window") == 0);
}

TEST_CASE("simulated memory ends at the windows, at sinks and windows, or grows to the end") {
  const ModelFolder mistral;
  // Four requests; while prompts are computed a table holds (63 + 128) / 16 + 1 blocks at most.
  CHECK(most_used(mistral.scenario({"engine.max_num_batched_tokens=16"})) <= 4 * (63 / 16 + 1 + 1 + 1));
  CHECK(most_used(mistral.scenario({"engine.sliding_window=keep_all", "engine.num_blocks=400"})) > 4 * 50);
  const std::vector<std::string> streams = {"engine.streaming={sink: 4, window: 60}",
                                            "engine.max_num_batched_tokens=16"};
  const Scenario streaming = ModelFolder::scenario_of("meta-llama/Llama-3.1-8B", streams);
  REQUIRE(streaming.kv_groups.retention.size() == 1);
  CHECK(streaming.kv_groups.retention.front().sink == Tokens{4});
  CHECK(streaming.kv_groups.retention.front().window == Tokens{60});
  CHECK(most_used(streaming) <= 4 * (1 + 63 / 16 + 1 + 1 + 1));
  CHECK(problem_of(mistral, streams).find("CFG202 spec.engine.streaming") == 0);
  const auto both = [&] {
    ModelFolder::scenario_of("meta-llama/Llama-3.1-8B", {streams.front(), "engine.sliding_window=keep_all"});
  };
  CHECK_THROWS_WITH(both(), Catch::Contains("keep_all keeps what a window gives back"));
  CHECK(problem_of(mistral, {"engine.streaming={sink: 4}"}).find("CFG202 spec.engine.streaming") == 0);
}

TEST_CASE("a block holds one group's layers, so that the same memory makes more blocks") {
  const std::vector<std::string> fraction = {"engine.num_blocks=null", "engine.memory_fraction=0.9"};
  const auto blocks = [&](int every, std::vector<std::string> set) {
    const ModelFolder model(every);
    set.insert(set.end(), fraction.begin(), fraction.end());
    const Scenario scenario = model.scenario(set);
    CHECK(scenario.kv_groups.layout.layers_per_block == 12 / std::max(1, every));
    return scenario.memory->num_blocks.value;
  };
  const std::int64_t whole = blocks(0, {});
  const std::int64_t thirds = blocks(3, {});
  CHECK(thirds / 3 == whole);
  // Blocks of 128 KiB; tables of 4096 tokens take 256, and 13 each for the two that have windows.
  const ModelFolder gemma(3);
  const Bytes half{reported_memory(gemma.scenario({}).device).value / 2};
  const auto problem = [&](std::int64_t mebibytes) {
    const std::string weights = std::to_string(half.value - (mebibytes << 20)) + "B";
    return problem_of(gemma,
                      {"engine.num_blocks=null", "engine.memory_fraction=0.5", "engine.max_model_len=4096",
                       "engine.memory={weights: " + weights + ", activations: 0B, context: 0B, graphs: 0B}"});
  };
  CHECK(problem(36).empty());
  CHECK(problem(35).find("CFG202 spec.engine.max_model_len") == 0);
}

// What each row of a step sees in layers with a window, looked at one by one.
struct SeenByRows final : Observer {
  void on_plan(const StepPlan& plan) override {
    if (plan.shape.tokens == 0) return;
    CHECK(plan.shape.window == window);
    std::int64_t context = 0;
    std::int64_t pairs = 0;
    for (const StepRow& row : plan.rows) {
      std::int64_t seen = 0;
      for (std::int64_t i = 1; i <= row.tokens.value; ++i) seen += std::min(row.context.value + i, window);
      const bool is_prompt = row.context.value < 300;
      (is_prompt ? pairs : context) += seen;
      cut |= row.context.value + row.tokens.value > window;
    }
    REQUIRE(plan.shape.window_context == context);
    REQUIRE(plan.shape.window_pairs == pairs);
    ++steps;
  }
  explicit SeenByRows(std::int64_t tokens) : window(tokens) {}
  std::int64_t window;
  bool cut = false;
  int steps = 0;
};

TEST_CASE("a step's sums are cut by the window row by row, where layers with one are priced") {
  const std::vector<std::string> priced = {"cost={model: analytic}", "engine.prefix_caching=false",
                                           "engine.num_blocks=400"};
  const auto check = [&](const Scenario& scenario, std::int64_t window) {
    SeenByRows rows(window);
    RunOptions options;
    options.observers = {&rows};
    run_scenario(scenario, options);
    CHECK(rows.steps > 600);
    CHECK(rows.cut);
  };
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), priced.begin(), priced.end());
    return more;
  };
  for (const int every : {0, 3}) {
    const ModelFolder model(every);
    check(model.scenario(with({})), 64);
    check(model.scenario(with({"engine.sliding_window=keep_all"})), 64);
    check(model.scenario(with({"engine.preset=vllm-v1-async"})), 64);
  }
  check(ModelFolder::scenario_of("meta-llama/Llama-3.1-8B", with({"engine.streaming={sink: 4, window: 60}"})),
        64);
}

TEST_CASE("where no layer's window cuts, or nobody prices it, no sums are kept") {
  struct NoSums final : Observer {
    void on_plan(const StepPlan& plan) override {
      CHECK(plan.shape.window == 0);
      CHECK(plan.shape.window_context == 0);
    }
  } none;
  RunOptions options;
  options.observers = {&none};
  const ModelFolder model;
  run_scenario(model.scenario({}), options);
  run_scenario(model.scenario({"cost={model: analytic}", "engine.max_model_len=64",
                               "workload.lengths={input: 20, output: 30}"}),
               options);
}

TEST_CASE("scales of an 8-bit cache are those that are asked for, and a 16-bit cache has none") {
  const ModelFolder mistral;
  const auto per_block = [&](const std::string& scales) {
    return mistral
        .scenario({"engine.num_blocks=null", "engine.memory_fraction=0.9", "engine.kv_dtype=i8",
                   "engine.kv_scales=" + scales})
        .memory->per_block.value;
  };
  const std::int64_t elements = 16 * 12 * 2 * 4 * 128;
  CHECK(per_block("tensor") == elements);
  CHECK(per_block("token") == elements + 16 * 12 * 2 * 4);
  CHECK(per_block("token_head") == elements + 16 * 12 * 2 * 4 * 4);
  CHECK(problem_of(mistral, {"engine.kv_scales=token"}).find("CFG202 spec.engine.kv_scales") == 0);
}

}  // namespace
}  // namespace servetwin::windows_test
