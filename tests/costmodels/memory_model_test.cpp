// If this fails, the simulated KV cache has another size than a real engine's, or hides how it was found.
#include "costmodels/memory_model.h"

#include <fstream>

#include "engine/base/text.h"
#include "engine/base/unit_text.h"
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
  CHECK(text.find("assumed: driver and CUDA context") != std::string::npos);
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
      CHECK(error.problems().front().message.find("weights") != std::string::npos);
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

TEST_CASE("block counts are within 1 % of those that vLLM printed on H100") {
  std::ifstream in(std::string(SERVETWIN_DATA_DIR) + "/vllm-h100/serving.csv");
  if (!in) {
    WARN("skipped: no vllm-h100 in SERVETWIN_DATA_DIR");
    return;
  }
  std::string line;
  std::getline(in, line);
  const auto header = split_csv_line(line);
  const auto column = [&](const char* name) {
    return static_cast<std::size_t>(std::find(header.begin(), header.end(), name) - header.begin());
  };
  int compared = 0;
  std::string previous;
  while (std::getline(in, line)) {
    const auto cells = split_csv_line(line);
    const std::string name = cells[column("model")];
    if (name == previous || name.find("Llama-4") != std::string::npos) continue;
    previous = name;
    const auto number = [&](const char* field) { return *parse_integer(cells[column(field)]).value; };
    const ModelSpec model = catalogue_model(name);
    MemoryRequest request;
    request.model = &model;
    request.device_memory = h100().memory;
    request.tp = static_cast<int>(number("tp"));
    request.max_batched_tokens = Tokens{number("max_num_batched_tokens")};
    request.max_sequences = number("max_num_seqs");
    const KvMemory memory = kv_memory(request);
    INFO(name << " measured " << number("kv_blocks_of_16") << "\n" << to_text(memory));
    CHECK(static_cast<double>(memory.num_blocks.value) ==
          Approx(static_cast<double>(number("kv_blocks_of_16"))).epsilon(0.01));
    ++compared;
  }
  CHECK(compared >= 4);
}

}  // namespace
}  // namespace servetwin::memory_model_test
