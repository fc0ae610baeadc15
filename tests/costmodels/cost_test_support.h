// Builds cost models and step shapes for the tests of this folder.
#pragma once

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "costmodels/cost_model.h"
#include "costmodels/device_spec.h"
#include "engine/base/registry.h"
#include "engine/base/rng.h"
#include "engine/models/catalogue.h"

namespace servetwin {

inline ModelSpec catalogue_model(const std::string& name) { return find_model(name, {SERVETWIN_SOURCE_DIR}); }
inline ModelSpec llama_8b() { return catalogue_model("meta-llama/Llama-3.1-8B"); }

// The figures of costmodels/devices/h100-sxm.yaml.
inline DeviceSpec h100() {
  DeviceSpec device;
  device.name = "h100-sxm";
  device.memory = Bytes{std::int64_t{80} << 30};
  device.memory_bandwidth = BytesPerSecond{3.35e12};
  device.peak.bf16 = FlopsPerSecond{989e12};
  device.peak.fp8 = FlopsPerSecond{1978e12};
  device.node_link = BytesPerSecond{450e9};
  device.network_link = BytesPerSecond{50e9};
  device.host_link = BytesPerSecond{64e9};
  device.devices_per_node = 8;
  return device;
}

using Entries = std::vector<std::pair<std::string, std::string>>;

inline ConfigNode params_of(const Entries& entries) {
  ConfigNode node;
  node.kind = ConfigNode::Kind::kMap;
  for (const auto& [key, text] : entries) {
    ConfigNode value;
    value.kind = ConfigNode::Kind::kScalar;
    value.text = text;
    node.entries.emplace_back(key, value);
  }
  return node;
}

inline std::unique_ptr<CostModel> make_cost(const std::string& name,
                                            const Entries& entries,
                                            const CostContext& context = {}) {
  return Registry<CostModel>::instance().make(name, params_of(entries), context);
}

// The first problem with making that cost model; fails the test when there is none.
inline Problem problem_making(const std::string& name,
                              const Entries& entries,
                              const CostContext& context = {}) {
  try {
    make_cost(name, entries, context);
  } catch (const ConfigError& error) {
    return error.problems().front();
  }
  return Problem{"none", {}, "", "was accepted", ""};
}

// A file in the working directory, removed afterwards.
class TestFile {
 public:
  TestFile(std::string path, const std::string& text) : path_(std::move(path)) {
    std::ofstream(path_) << text;
  }
  ~TestFile() { std::filesystem::remove(path_); }
  TestFile(const TestFile&) = delete;
  TestFile& operator=(const TestFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// A step: its shape, and its prefill rows one by one.
struct TestStep {
  StepShape shape;
  std::vector<PrefillRow> prefill_rows;

  TestStep() = default;
  TestStep(const StepShape& decode_only) : shape(decode_only) {}  // NOLINT(google-explicit-constructor)

  StepInput input() const {
    StepInput result;
    result.shape = &shape;
    result.step = StepId{1};
    result.prefill_rows = prefill_rows;
    return result;
  }
};

inline Duration time_of(const CostModel& cost, const TestStep& step) { return cost.step_time(step.input()); }
inline StepCost cost_of(const CostModel& cost, const TestStep& step) { return cost.step(step.input()); }

inline const OpCost& part(const StepCost& cost, OpClass op) { return cost.ops[static_cast<std::size_t>(op)]; }

inline StepShape decode_shape(std::int64_t rows, std::int64_t context_each) {
  StepShape shape;
  shape.tokens = shape.sequences = shape.decode_sequences = shape.sampled_rows = rows;
  shape.decode_context = rows * context_each;
  shape.max_context = context_each;
  shape.graph_size = rows;
  return shape;
}

// One row more, computing `q` tokens after `context`.
inline TestStep with_prefill(TestStep step, std::int64_t q, std::int64_t context) {
  StepShape& shape = step.shape;
  shape.tokens += q;
  shape.sequences += 1;
  shape.prefill_sequences += 1;
  shape.prefill_tokens += q;
  shape.prefill_q_context += q * context;
  shape.prefill_q_squared += q * q;
  shape.max_context = std::max(shape.max_context, q + context);
  shape.graph_size = 0;
  step.prefill_rows.push_back({q, context});
  return step;
}

// The n-th of a fixed series of steps: 1 to 256 decode rows, or none, with up to 4 prefill rows.
inline TestStep random_step(std::uint64_t n) {
  const StreamKey key{1, Stream::kTest, n};
  std::uint32_t index = 0;
  const auto below = [&](std::int64_t bound) {
    return static_cast<std::int64_t>(draw_u64(key, index++) % static_cast<std::uint64_t>(bound));
  };
  TestStep step = decode_shape(1 + below(256), 1 + below(8192));
  if (below(8) == 0) step = TestStep{};
  const std::int64_t prefills = step.shape.sequences == 0 ? 1 + below(4) : below(5);
  for (std::int64_t i = 0; i < prefills; ++i) {
    step = with_prefill(step, 1 + below(2048), below(8192));
    step.shape.sampled_rows += below(2);
    step.shape.new_sequences += below(2);
  }
  return step;
}

}  // namespace servetwin
