// If one fails, a preset that computes prompts apart from decoders, or in slots, does not as its engine does.
#include "tests/sim/preset_world.h"
#include "tests/support/catch.h"
#include "tests/workload/nodes.h"

namespace servetwin::preset_phases_test {

using namespace test;

namespace {

using Lines = std::vector<std::string>;

RuleNames rules_of(const std::string& preset) { return find_preset(preset)->rules(); }

Lines times(std::size_t count, const std::string& line) { return Lines(count, line); }

void append(Lines& lines, const Lines& more) { lines.insert(lines.end(), more.begin(), more.end()); }

}  // namespace

TEST_CASE("TGI merges new prompts once 1.2 wait for each that runs") {
  PresetWorld world(rules_of("tgi"), preset_engine("tgi"));
  for (int i = 0; i < 2; ++i) world.arrive(10, 8);
  world.arrive(10, 2, 3);
  world.arrive(10, 2, 5);
  Lines lines = world.run();
  lines.resize(7);
  CHECK(lines ==
        Lines{"0:10 1:10", "0:1 1:1", "0:1 1:1", "0:1 1:1", "2:10 3:10", "0:1 1:1 2:1 3:1", "0:1 1:1"});
}

TEST_CASE(
    "TGI merges whoever waits after max_waiting_tokens, and a merged batch gives a token before the next") {
  PresetWorld world(rules_of("tgi"), preset_engine("tgi"), "merge_prefill",
                    map_of({{"max_waiting_tokens", text("3")}}));
  world.arrive(10, 9);
  world.arrive(10, 9, 2);
  world.arrive(10, 9, 3);
  Lines lines = world.run();
  lines.resize(6);
  CHECK(lines == Lines{"0:10", "1:10", "0:1 1:1", "0:1 1:1", "2:10", "0:1 1:1 2:1"});
}

TEST_CASE("nano-vllm cuts only the first prompt of a batch, and takes all its blocks at once") {
  EngineConfig engine = preset_engine("nano-vllm");
  engine.block_size = Tokens{16};
  engine.max_num_batched_tokens = Tokens{32};
  PresetWorld world(rules_of("nano-vllm"), engine);
  world.arrive(50, 2);
  world.arrive(10, 2);
  world.arrive(40, 2, 2);
  CHECK(world.run() == Lines{"0:32", "0:18 1:10", "2:32", "2:8", "0:1 1:1 2:1"});
  CHECK(world.steps.used.at(0) == 4);
}

TEST_CASE("SGLang has one prompt at a time in chunks, first in the next step") {
  EngineConfig engine = preset_engine("sglang");
  engine.max_num_batched_tokens = Tokens{32};
  PresetWorld world(rules_of("sglang"), engine);
  world.arrive(20, 2);
  world.arrive(30, 2);
  world.arrive(5, 2, 2);
  CHECK(world.run() == Lines{"0:20 1:12", "1:18 2:5", "0:1 1:1 2:1"});
}

// 80 tokens are free beside the first request, which may take 59 more.
TEST_CASE("SGLang lets a request in while a share of what the running ones may take would leave it room") {
  for (const std::int64_t outputs : {15, 30}) {
    EngineConfig engine = preset_engine("sglang");
    engine.num_blocks = Blocks{1 + 100};
    PresetWorld world(rules_of("sglang"), engine);
    world.arrive(20, 60);
    world.arrive(20, outputs, 2);
    CHECK(world.run().at(1) == (outputs == 15 ? "1:20" : "0:1"));  // 34 + 41 of 80, or 49 + 41
  }
}

TEST_CASE("SGLang retracts who gave fewest outputs, of these the longest prompt, before a step of decoders") {
  EngineConfig engine = preset_engine("sglang");
  engine.num_blocks = Blocks{1 + 60};
  engine.prefix_caching = false;
  PresetWorld world(rules_of("sglang"), engine, "new_token_ratio",
                    map_of({{"initial", text("0.1")}, {"lowest", text("0.1")}}));
  world.arrive(20, 40);
  world.arrive(10, 20);
  Lines expected{"0:20", "1:10"};
  append(expected, times(15, "0:1 1:1"));
  append(expected, times(4, "1:1"));
  append(expected, {"0:36"});
  append(expected, times(23, "0:1"));
  CHECK(world.run() == expected);
  CHECK(world.steps.preempted == std::vector<std::uint32_t>{0});
}

TEST_CASE("mini-sglang keeps who may not reach its max_tokens out, and never preempts") {
  EngineConfig engine = preset_engine("mini-sglang");
  engine.num_blocks = Blocks{1 + 60};
  PresetWorld world(rules_of("mini-sglang"), engine);
  world.arrive(20, 30);
  world.arrive(10, 20);
  const Lines& lines = world.run();
  CHECK(lines.size() == 50);
  CHECK(lines.at(30) == "1:10");
}

TEST_CASE("llama.cpp gives each generating slot a token, then prompts in order of slots up to n_batch") {
  EngineConfig engine = preset_engine("llama-cpp");
  engine.max_num_seqs = 2;
  engine.max_num_batched_tokens = Tokens{8};
  engine.max_model_len = Tokens{64};
  PresetWorld world(rules_of("llama-cpp"), engine);
  for (const std::int64_t prompt : {10, 6, 4}) world.arrive(prompt, 3);
  CHECK(world.run() == Lines{"1:6 0:2", "1:1 0:7", "1:1 0:1", "0:1 2:4", "2:1 0:1", "2:1"});
}

TEST_CASE("llama.cpp chooses the idle slot with the most similar text, and reuses that slot's text alone") {
  EngineConfig engine = preset_engine("llama-cpp");
  engine.max_num_seqs = 2;
  engine.max_model_len = Tokens{64};
  PresetWorld world(rules_of("llama-cpp"), engine);
  const auto arrive = [&](std::int64_t prompt, std::uint64_t stream, std::int64_t step) {
    RequestSpec& spec = world.arrive(prompt, 3, step);
    spec.content = {{stream, Tokens{prompt}}};
    spec.continues_content = true;
  };
  arrive(10, 7, 1);
  arrive(10, 9, 11);
  arrive(20, 7, 21);  // the slot computed 10 + 2 tokens of it
  arrive(10, 9, 31);  // all of it is there, and its last token is computed again
  arrive(10, 9, 41);
  arrive(10, 9, 41);  // takes the other slot, which holds none of it
  const Lines& lines = world.run();
  CHECK(lines == Lines{"0:10", "0:1", "0:1", "1:10", "1:1", "1:1", "2:8", "2:1", "2:1", "3:1", "3:1", "3:1",
                       "4:1 5:10", "4:1 5:1", "4:1 5:1"});
}

TEST_CASE("who outgrows the pool in llama.cpp's slots waits visibly, and enters no more") {
  EngineConfig engine = preset_engine("llama-cpp");
  engine.max_model_len = Tokens{64};
  engine.num_blocks = Blocks{1 + 12};
  HandBackend backend;
  Collect ends;
  const RuleNames names = rules_of("llama-cpp");
  Cluster cluster({{engine}, 0}, [&] { return make_rules(names); },
                  Registry<Router>::instance().make("round_robin", ConfigNode{}), {&ends});
  RequestSpec spec;
  spec.id = RequestId{0};
  spec.prompt = Tokens{10};
  spec.max_tokens = Tokens{20};
  cluster.add_request(spec);
  backend.add(kTimeZero, Arrived{spec.id});
  serve(cluster, backend);
  const std::vector<StalledRequest> stalled = cluster.stalled(10);
  REQUIRE(stalled.size() == 1);
  CHECK(stalled[0].request == spec.id);
}

}  // namespace servetwin::preset_phases_test
