// If one fails, a preset composes a step as its engine does not.
#include "tests/sim/preset_world.h"
#include "tests/support/catch.h"
#include "tests/workload/nodes.h"

namespace servetwin::preset_traces_test {

using namespace test;

namespace {

using Sizes = std::vector<std::int64_t>;

// Five prompts of eight tokens, at most four at once; the first wants two outputs, the others four.
PresetWorld five_prompts(const std::string& preset) {
  EngineConfig engine = preset_engine(preset);
  engine.max_num_seqs = 4;
  return PresetWorld(find_preset(preset)->rules(), engine);
}

void arrive_five(PresetWorld& world) {
  for (int i = 0; i < 5; ++i) world.arrive(8, i == 0 ? 2 : 4);
  world.run();
}

}  // namespace

TEST_CASE("vLLM V1 admits beside decoders: batches of 4 4 4 4 1 1") {
  PresetWorld world = five_prompts("vllm-v1");
  arrive_five(world);
  CHECK(world.sequences() == Sizes{4, 4, 4, 4, 1, 1});
  CHECK(world.tokens() == Sizes{32, 4, 11, 4, 1, 1});
}

TEST_CASE("vLLM V0 stops its decoders for a prompt: batches of 4 4 1 4 4 1") {
  PresetWorld world = five_prompts("vllm-v0");
  arrive_five(world);
  CHECK(world.sequences() == Sizes{4, 4, 1, 4, 4, 1});
  CHECK(world.tokens() == Sizes{32, 4, 8, 4, 4, 1});
}

TEST_CASE("Sarathi's decoders go first and a chunk fills what they leave: 1 1 1 253 of 256") {
  EngineConfig engine = preset_engine("sarathi");
  engine.max_num_batched_tokens = Tokens{256};
  PresetWorld world(find_preset("sarathi")->rules(), engine);
  for (int i = 0; i < 3; ++i) world.arrive(10, 20);
  world.arrive(1000, 2, 2);
  const auto& lines = world.run();
  CHECK(lines.at(0) == "0:10 1:10 2:10");
  CHECK(lines.at(1) == "0:1 1:1 2:1 3:253");
  CHECK(lines.at(4) == "0:1 1:1 2:1 3:241");
  CHECK(lines.at(5) == "0:1 1:1 2:1 3:1");
}

TEST_CASE("a static batch runs until its longest has ended, those that have ended as padding") {
  PresetWorld world = five_prompts("static");
  arrive_five(world);
  CHECK(world.sequences() == Sizes{4, 4, 4, 4, 1, 1, 1, 1});
  CHECK(world.tokens() == Sizes{32, 4, 4, 4, 8, 1, 1, 1});
  Sizes padding;
  for (const StepShape& shape : world.steps.shapes) padding.push_back(shape.padding_sequences);
  CHECK(padding == Sizes{0, 0, 1, 1, 0, 0, 0, 0});
}

TEST_CASE(
    "a static batch of prompts costs its size times its longest, and that is what the budget compares") {
  EngineConfig engine = preset_engine("static");
  engine.max_num_batched_tokens = Tokens{100};
  PresetWorld world(find_preset("static")->rules(), engine);
  for (const std::int64_t prompt : {10, 40, 30}) world.arrive(prompt, 2);
  CHECK(world.run() == std::vector<std::string>{"0:10 1:40", "0:1 1:1", "2:30", "2:1"});
  CHECK(world.tokens() == Sizes{80, 2, 30, 1});
  CHECK(world.steps.shapes.at(0).padding_tokens == 30);
  CHECK(world.steps.shapes.at(0).prefill_q_squared == 2 * 40 * 40);
  CHECK(world.steps.shapes.at(1).decode_context == 2 * 41);
}

TEST_CASE("ORCA reserves a whole context for each request, and mixes whole prompts with decoders") {
  EngineConfig engine = preset_engine("orca");
  engine.max_model_len = Tokens{160};
  engine.num_blocks = Blocks{1 + 2 * 10};
  PresetWorld world(find_preset("orca")->rules(), engine);
  world.arrive(20, 2);
  world.arrive(20, 4);
  world.arrive(20, 3);
  CHECK(world.run() == std::vector<std::string>{"0:20 1:20", "0:1 1:1", "1:1 2:20", "1:1 2:1", "2:1"});
}

TEST_CASE(
    "a decoder of vLLM V0 needs a free block though its own has room, and the last admitted gives way") {
  EngineConfig engine = preset_engine("vllm-v0");
  engine.block_size = Tokens{10};
  engine.num_blocks = Blocks{1 + 2};
  engine.watermark = 0.0;
  PresetWorld world(find_preset("vllm-v0")->rules(), engine);
  world.arrive(5, 3);
  world.arrive(5, 3);
  CHECK(world.run() == std::vector<std::string>{"0:5 1:5", "0:1", "1:6", "0:1", "1:7"});
  CHECK(world.steps.preempted == std::vector<std::uint32_t>{1, 1});
}

TEST_CASE(
    "Sarathi takes the blocks of a whole prompt when it enters, and the first that fails ends the scan") {
  EngineConfig engine = preset_engine("sarathi");
  engine.max_num_batched_tokens = Tokens{32};
  engine.num_blocks = Blocks{1 + 10};
  PresetWorld world(find_preset("sarathi")->rules(), engine);
  world.arrive(100, 2);
  world.arrive(60, 2);
  world.arrive(10, 2);
  const auto& lines = world.run();
  CHECK(lines.at(0) == "0:32");
  CHECK(world.steps.used.at(0) == 7);
  CHECK(lines.at(3) == "0:4");
  CHECK(lines.at(4) == "0:1");
  CHECK(lines.at(5) == "1:32");
}

namespace {

// TensorRT-LLM's own test: blocks of ten tokens, everybody from the start.
PresetWorld trtllm_world(const std::string& policy, std::int64_t blocks, std::int64_t adapters = 0) {
  EngineConfig engine = preset_engine("trtllm-" + policy);
  engine.block_size = Tokens{10};
  engine.num_blocks = Blocks{1 + blocks};
  engine.prefix_caching = false;
  const RuleNames names = find_preset("trtllm-" + policy)->rules();
  return PresetWorld(names, engine, names.step, map_of({{"adapters", text(std::to_string(adapters))}}));
}

const char* const kPolicies[] = {"guaranteed-no-evict", "max-utilization", "static-batch"};

}  // namespace

TEST_CASE(
    "MAX_UTILIZATION runs two until blocks run out, pauses the last started and restarts it: 119 steps") {
  PresetWorld world = trtllm_world("max-utilization", 10);
  world.arrive(10, 80);
  world.arrive(10, 80);
  const auto& lines = world.run();
  REQUIRE(lines.size() == 119);
  CHECK(lines.at(0) == "0:10 1:10");
  CHECK(lines.at(40) == "0:1 1:1");
  CHECK(lines.at(41) == "0:1");
  CHECK(lines.at(79) == "0:1");
  CHECK(lines.at(80) == "1:51");
  CHECK(lines.at(81) == "1:1");
  CHECK(world.steps.preempted == std::vector<std::uint32_t>{1});
}

TEST_CASE("under priorities MAX_UTILIZATION pauses the less important one, wherever it stands") {
  EngineConfig engine = preset_engine("trtllm-max-utilization");
  engine.block_size = Tokens{10};
  engine.num_blocks = Blocks{1 + 10};
  engine.prefix_caching = false;
  RuleNames names = find_preset("trtllm-max-utilization")->rules();
  names.waiting_order = "priority";
  names.victim = "least_important";
  PresetWorld world(names, engine);
  world.arrive(10, 80).priority = 1;
  world.arrive(10, 80).priority = 0;
  const auto& lines = world.run();
  REQUIRE(lines.size() == 119);
  CHECK(lines.at(41) == "1:1");
  CHECK(lines.at(80) == "0:51");
}

TEST_CASE("GUARANTEED_NO_EVICT runs one after the other where both do not fit to their ends") {
  PresetWorld world = trtllm_world("guaranteed-no-evict", 10);
  world.arrive(10, 80);
  world.arrive(10, 80);
  CHECK(world.run().size() == 160);
  CHECK(world.steps.preempted.empty());
}

TEST_CASE("where all fit to their ends the three policies of TensorRT-LLM are one") {
  for (const char* policy : kPolicies) {
    PresetWorld two = trtllm_world(policy, 20);
    two.arrive(10, 80);
    two.arrive(10, 80);
    CHECK(two.run().size() == 80);
    PresetWorld three = trtllm_world(policy, 21);
    for (int i = 0; i < 3; ++i) three.arrive(10, 50);
    CHECK(three.run().size() == 50);
  }
}

TEST_CASE("who lacks an adapter stops the scan of MAX_UTILIZATION and is passed over by the others") {
  for (const char* policy : kPolicies) {
    CAPTURE(policy);
    PresetWorld world = trtllm_world(policy, 100, 1);
    for (const std::uint16_t adapter : std::vector<std::uint16_t>{1, 2, 1})
      world.arrive(10, 50).adapter = AdapterId{adapter};
    const auto& lines = world.run();
    const bool in_order = std::string(policy) == "max-utilization";
    CHECK(lines.size() == (in_order ? 150 : 100));
    CHECK(lines.at(0) == (in_order ? "0:10" : "0:10 2:10"));
    CHECK(lines.at(50) == "1:10");
  }
}

TEST_CASE("TensorRT-LLM's twelve requests enter by priority, stable inside a level") {
  EngineConfig engine = preset_engine("trtllm-guaranteed-no-evict");
  engine.max_num_seqs = 1;
  RuleNames names = find_preset("trtllm-guaranteed-no-evict")->rules();
  names.waiting_order = "priority";
  PresetWorld world(names, engine);
  // Levels 1.0, .6, .5 and .3 there; here smaller numbers are more important.
  for (const int level : {2, 2, 1, 1, 1, 0, 3, 3, 3, 1, 0, 2}) world.arrive(10, 1).priority = level;
  std::string order;
  for (const std::string& line : world.run()) order += line.substr(0, line.find(':')) + ' ';
  CHECK(order == "5 10 2 3 4 9 0 1 11 6 7 8 ");
}

TEST_CASE("context chunks are whole units: a unit for each in turn, or all that the first can take") {
  for (const char* chunking : {"equal_progress", "first_come_first_served"}) {
    EngineConfig engine = preset_engine("trtllm-max-utilization");
    engine.max_num_batched_tokens = Tokens{36};
    PresetWorld world(find_preset("trtllm-max-utilization")->rules(), engine, "trtllm_max_utilization",
                      map_of({{"chunk_unit", text("8")}, {"chunking", text(chunking)}}));
    for (const std::int64_t prompt : {50, 20, 5}) world.arrive(prompt, 1);
    const bool equal = std::string(chunking) == "equal_progress";
    CHECK(world.run() == (equal ? std::vector<std::string>{"0:16 1:8 2:5", "0:24 1:12", "0:10"}
                                : std::vector<std::string>{"0:32", "0:18 1:16", "1:4 2:5"}));
  }
}

}  // namespace servetwin::preset_traces_test
