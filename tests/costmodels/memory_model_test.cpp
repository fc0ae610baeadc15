// If this fails, the simulated KV cache has another size than a real engine's, or hides how it was found.
#include "costmodels/memory_model.h"

#include "engine/base/unit_text.h"
#include "engine/models/kv_format.h"
#include "tests/costmodels/cost_test_support.h"
#include "tests/support/catch.h"

namespace servetwin::memory_model_test {
namespace {

constexpr std::int64_t kGiB = std::int64_t{1} << 30;

// 80 GiB, 16 of weights and 4 of everything else.
struct Case {
  Case() : model(llama_8b()) {
    request.model = &model;
    request.device_memory = Bytes{80 * kGiB};
    request.max_batched_tokens = Tokens{8192};
    request.max_sequences = 256;
    request.options.weights = Bytes{16 * kGiB};
    request.options.activations = Bytes{3 * kGiB};
    request.options.context = Bytes{kGiB / 2};
    request.options.graphs = Bytes{kGiB / 2};
  }

  KvMemory memory(FractionOf of) {
    request.options.of = of;
    return kv_memory(request);
  }

  ModelSpec model;
  MemoryRequest request;
};

TEST_CASE("one fraction means three cache sizes in three engines") {
  Case c;
  CHECK(c.memory(FractionOf::kFree).cache == Bytes{54 * kGiB});
  CHECK(c.memory(FractionOf::kTotal).cache == Bytes{52 * kGiB});
  CHECK(c.memory(FractionOf::kStatic).cache == Bytes{56 * kGiB});
  CHECK(c.memory(FractionOf::kFree).num_blocks == Blocks{27'648});
  CHECK(c.memory(FractionOf::kTotal).num_blocks == Blocks{26'624});
  CHECK(c.memory(FractionOf::kStatic).num_blocks == Blocks{28'672});
}

TEST_CASE("a cache of reported size holds the reported blocks and requests") {
  Case c;
  const KvMemory memory = kv_memory_of(Bytes{4'093'640'704}, c.request);
  CHECK(memory.per_block == Bytes{2'097'152});
  CHECK(memory.num_blocks == Blocks{1952});
  CHECK(memory.tokens() == Tokens{31'232});
  CHECK(memory.concurrency(Tokens{20'000}) == Approx(1.5616).epsilon(1e-12));
  CHECK_FALSE(length_problem(memory, Tokens{20'000}).has_value());
}

TEST_CASE("scales and layers of a block count in it: 64 KiB a token in 8 bits, 66 with a scale a vector") {
  Case c;
  const Bytes cache{std::int64_t{1152} << 20};
  const auto blocks = [&](KvFormat format, std::int64_t layers) {
    c.request.layers_per_block = layers;
    c.request.token_in_block = kv_token_bytes(c.model, format, 1, layers);
    return kv_memory_of(cache, c.request).num_blocks;
  };
  CHECK(blocks({DType::kBF16, KvScales::kTensor}, 32) == Blocks{576});
  CHECK(blocks({DType::kF8E4M3, KvScales::kTensor}, 32) == Blocks{1152});
  CHECK(blocks({DType::kI8, KvScales::kTokenHead}, 32) == Blocks{cache.value / (16 * (65'536 + 2'048))});
  CHECK(blocks({DType::kI8, KvScales::kToken}, 32) == Blocks{cache.value / (16 * (65'536 + 256))});
  CHECK(blocks({DType::kBF16, KvScales::kTensor}, 16) == Blocks{2 * 576});
  c.request.token_in_block.reset();
  CHECK(kv_memory_of(cache, c.request).num_blocks == Blocks{2 * 576});
}

TEST_CASE("a context that the cache can never hold is refused naming both numbers") {
  Case c;
  const KvMemory memory = kv_memory_of(Bytes{3'099'590'656}, c.request);
  CHECK(memory.num_blocks == Blocks{1478});
  const auto problem = length_problem(memory, Tokens{29'000});
  REQUIRE(problem.has_value());
  CHECK(problem->message == "29000 tokens exceed the 23648 that 1478 KV blocks hold");
  CHECK_FALSE(length_problem(memory, Tokens{23'648}).has_value());
  CHECK(length_problem(memory, Tokens{23'649}).has_value());
}

TEST_CASE("the derivation shows every part, and says which are assumed") {
  Case c;
  c.request.options = MemoryOptions{};
  const KvMemory memory = kv_memory(c.request);
  const std::string text = to_text(memory);
  INFO(text);
  CHECK(text.find("8,030,261,248 parameters, bf16") != std::string::npos);
  CHECK(text.find("16,060,522,496") != std::string::npos);
  CHECK(text.find("the engine's: kernels and runtime") != std::string::npos);
  CHECK(text.find("estimated: 8,192 tokens") != std::string::npos);
  CHECK(text.find("the null block included") != std::string::npos);
  std::int64_t parts = 0;
  for (const MemoryLine& line : memory.derivation) {
    if (line.name != "device" && line.name != "block") parts += line.bytes.value;
  }
  CHECK(parts == 77'309'411'328);  // nine tenths of the device, to the byte
}

TEST_CASE("a model that leaves no room is refused with the whole account") {
  Case c;
  c.request.options.weights = Bytes{79 * kGiB};
  for (const FractionOf of : {FractionOf::kTotal, FractionOf::kFree, FractionOf::kStatic}) {
    try {
      c.memory(of);
      FAIL("was accepted");
    } catch (const ConfigError& error) {
      const std::string& message = error.problems().front().message;
      CHECK(message.find("weights") != std::string::npos);
      CHECK(message.find("-") == message.find("- weights"));  // no size below nothing
      CHECK(error.problems().front().path == "spec.engine.memory_fraction");
    }
  }
}

TEST_CASE("a static fraction must leave room for the rest of the engine") {
  Case c;
  c.request.options.fraction = 0.96;
  CHECK_THROWS_AS(c.memory(FractionOf::kStatic), ConfigError);
  c.request.options.fraction = 0.95;
  CHECK(c.memory(FractionOf::kStatic).cache == Bytes{60 * kGiB});
}

TEST_CASE("ranks share weights and cache") {
  Case c;
  c.model = catalogue_model("meta-llama/Llama-3.1-70B");
  c.request.options = MemoryOptions{};
  c.request.tp = 4;
  const KvMemory memory = kv_memory(c.request);
  CHECK(memory.per_block == Bytes{16 * 81'920});
  CHECK(to_text(memory).find("one of 4 ranks") != std::string::npos);
}

TEST_CASE("the peak is a layer's states, or all hidden states and what sampling holds at once") {
  Case c;
  c.request.options = MemoryOptions{};
  c.request.engine = {50, Bytes{0}};
  const auto activations = [&] {
    for (const MemoryLine& line : kv_memory(c.request).derivation) {
      if (line.name == "activations") return line.bytes.value;
    }
    return std::int64_t{0};
  };
  CHECK(activations() == 8192 * 2 * 4096 + std::int64_t{256} * 128'256 * 50);
  c.request.max_sequences = 8;
  CHECK(activations() == 8192 * 2 * (2 * 4096 + 3 * 14'336));
  c.request.tp = 2;
  CHECK(activations() == 8192 * 2 * (2 * 4096 + 3 * 7'168));
  c.model = catalogue_model("mistralai/Mixtral-8x7B-v0.1");
  CHECK(activations() == 8192 * 2 * (2 * 4096 + 2 * 3 * 7'168));
  c.model = catalogue_model("Qwen/Qwen3-30B-A3B");  // whose experts are narrower than their input
  CHECK(activations() == 8192 * 2 * (2 * 2048 + 8 * (2048 + 384)));
}

TEST_CASE("tables of rotary angles and the engine's runtime count where the engine counts itself") {
  Case c;
  c.request.options = MemoryOptions{};
  c.request.engine.runtime = Bytes{std::int64_t{320} << 20};
  const auto part = [&](const std::string& name) {
    for (const MemoryLine& line : kv_memory(c.request).derivation) {
      if (line.name == name) return line.bytes.value;
    }
    return std::int64_t{-1};
  };
  CHECK(part("rotary") == 131'072 * 128 * 2);
  CHECK(part("context") == std::int64_t{320} << 20);
  c.request.options.of = FractionOf::kFree;
  CHECK(part("context") == std::int64_t{512} << 20);
  c.request.options.weights = Bytes{16 * kGiB};
  CHECK(part("rotary") == -1);
}

}  // namespace
}  // namespace servetwin::memory_model_test
