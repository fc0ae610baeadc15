// If this fails, the analytic model counts work wrongly, forgets a cost, or prices what it cannot.
#include "costmodels/cost_estimator.h"
#include "engine/base/work.h"
#include "kernels/attention/attention_cost.h"
#include "kernels/collectives/all_reduce_cost.h"
#include "kernels/gemm/gemm_cost.h"
#include "tests/costmodels/cost_test_support.h"
#include "tests/support/catch.h"

namespace servetwin::analytic_test {
namespace {

struct Rig {
  explicit Rig(const std::string& name = "meta-llama/Llama-3.1-8B", int tp = 1)
      : model(catalogue_model(name)), device(h100()) {
    context.model = &model;
    context.device = &device;
    context.tp = tp;
  }

  std::unique_ptr<CostModel> cost(const Entries& entries = {}) const {
    return make_cost("analytic", entries, context);
  }
  Problem problem() const { return problem_making("analytic", {}, context); }

  ModelSpec model;
  DeviceSpec device;
  CostContext context;
};

TEST_CASE("an H100 needs 295 FLOP a byte, and one decode step gives about 1") {
  CHECK(989e12 / 3.35e12 == Approx(295).epsilon(0.01));
  const Rig rig;
  const StepCost step = cost_of(*rig.cost(), decode_shape(1, 1));
  const OpCost& gemm = part(step, OpClass::kGemm);
  CHECK(intensity({gemm.flops, gemm.bytes}) == Approx(1.0).epsilon(0.01));
  CHECK(gemm.bound == Bound::kMemory);
}

TEST_CASE("a step's FLOPs and bytes equal the count by hand") {
  const Rig rig;
  const std::int64_t matrices = std::int64_t{32} * (2 * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 14336);
  const std::int64_t head = 128'256 * 4096;
  const StepCost step = cost_of(*rig.cost(), decode_shape(16, 1000));
  CHECK(part(step, OpClass::kGemm).flops == 2.0 * 16 * static_cast<double>(matrices + head));
  const double inputs_and_outputs =
      32.0 * (4096 + 6144 + 4096 + 4096 + 4096 + 28'672 + 14'336 + 4096) + 4096 + 128'256;
  CHECK(part(step, OpClass::kGemm).bytes ==
        2.0 * static_cast<double>(matrices + head) + 2.0 * 16 * inputs_and_outputs);
  // Queries and outputs of 16 rows besides the cache's 131,072 bytes a token.
  CHECK(part(step, OpClass::kAttentionDecode).bytes == 16'000.0 * 131'072 + 2.0 * 2 * 16 * 4096 * 32);
  CHECK(part(step, OpClass::kAttentionDecode).flops == 4.0 * 4096 * 32 * 16'000);
}

TEST_CASE("causal prefill counts every pair once, however the prompt is chunked") {
  const AttentionShape shape{32, 8, 128, 2, 2};
  const double whole = attention_prefill_work(shape, {4096, 0, 4096.0 * 4096, 0}).flops;
  const double first = attention_prefill_work(shape, {1024, 0, 1024.0 * 1024, 0}).flops;
  const double second = attention_prefill_work(shape, {3072, 3072.0 * 1024, 3072.0 * 3072, 1024}).flops;
  CHECK(first + second == whole);
  CHECK(whole == 4.0 * 32 * 128 * 4096 * 4097 / 2);
}

TEST_CASE("a product's work and an all-reduce's bytes are the textbook ones") {
  const Work work = gemm_work({2, 3, 5}, 1, 2);
  CHECK(work.flops == 60);
  CHECK(work.bytes == 15 + 2 * (3 + 5) * 2);
  CHECK(all_reduce_sent_bytes(100e6, 8) == 175e6);
}

TEST_CASE("prefill is bound by compute and decode by memory") {
  const Rig rig;
  const StepCost prefill = cost_of(*rig.cost(), with_prefill({}, 8192, 0));
  CHECK(part(prefill, OpClass::kGemm).bound == Bound::kCompute);
  CHECK(part(prefill, OpClass::kAttentionPrefill).bound == Bound::kCompute);
  const StepCost decode = cost_of(*rig.cost(), decode_shape(64, 4000));
  CHECK(part(decode, OpClass::kGemm).bound == Bound::kMemory);
  CHECK(part(decode, OpClass::kAttentionDecode).bound == Bound::kMemory);
  CHECK(part(decode, OpClass::kHost).bound == Bound::kOverhead);
}

TEST_CASE("a decode step takes no less than reading its weights and cache") {
  const Rig rig;
  const StepShape shape = decode_shape(50, 1200);
  const double bytes = 2.0 * (8'030'261'248 - 128'256 * 4096) + 60'000.0 * 131'072;
  const double floor_ms = bytes / 3.35e12 * 1e3;
  const double step_ms = to_milliseconds(time_of(*rig.cost(), shape));
  CHECK(step_ms > floor_ms);
  CHECK(step_ms < 2 * floor_ms);
}

TEST_CASE("host time grows with steps, rows and admissions as configured") {
  const Rig rig;
  const auto cost =
      rig.cost({{"step", "1ms"}, {"sequence", "10us"}, {"new_sequence", "100us"}, {"prefill_step", "2ms"}});
  CHECK(part(cost_of(*cost, decode_shape(50, 10)), OpClass::kHost).ns == 1.5e6);
  StepShape shape = with_prefill(decode_shape(50, 10), 100, 0).shape;
  shape.new_sequences = 1;
  CHECK(part(cost_of(*cost, shape), OpClass::kHost).ns == 1e6 + 51 * 1e4 + 1e5 + 2e6);
}

TEST_CASE("linear operations are priced at the padded size, attention is not") {
  const auto cost = Rig().cost();
  StepShape exact = decode_shape(17, 1000);
  StepShape padded = exact;
  padded.graph_size = 24;
  const StepCost a = cost_of(*cost, exact);
  const StepCost b = cost_of(*cost, padded);
  CHECK(part(b, OpClass::kNorm).bytes == Approx(part(a, OpClass::kNorm).bytes * 24 / 17));
  CHECK(part(b, OpClass::kAttentionDecode).ns == part(a, OpClass::kAttentionDecode).ns);
}

TEST_CASE("without a graph the host's launches show where products are short") {
  const auto cost = Rig().cost({{"eager_layer", "1ms"}});
  StepShape shape = decode_shape(1, 10);
  const double graph = part(cost_of(*cost, shape), OpClass::kLaunch).ns;
  shape.graph_size = 0;
  CHECK(part(cost_of(*cost, shape), OpClass::kLaunch).ns > graph + 20e6);
  const TestStep prefill = with_prefill({}, 8192, 0);
  CHECK(part(cost_of(*cost, prefill), OpClass::kLaunch).ns == 32 * (6e3 + 5e3));
}

TEST_CASE("ranks split work and pay for two all-reduces a layer") {
  const Rig one("meta-llama/Llama-3.1-70B", 1);
  const Rig four("meta-llama/Llama-3.1-70B", 4);
  const StepShape shape = decode_shape(32, 2000);
  const StepCost a = cost_of(*one.cost(), shape);
  const StepCost b = cost_of(*four.cost(), shape);
  CHECK(part(b, OpClass::kGemm).flops == part(a, OpClass::kGemm).flops / 4);
  CHECK(part(b, OpClass::kAttentionDecode).bytes == part(a, OpClass::kAttentionDecode).bytes / 4);
  CHECK(part(a, OpClass::kCollective).ns == 0);
  const double sent = 161 * all_reduce_sent_bytes(32.0 * 8192 * 2, 4) + 32.0 * 128'256 * 2 * 3 / 4;
  CHECK(part(b, OpClass::kCollective).bytes == Approx(sent));
  CHECK(b.total < a.total);
}

TEST_CASE("KV heads are repeated where there are more ranks than heads") {
  Rig eight("meta-llama/Llama-3.1-8B", 8);
  eight.model.kv_heads = 4;
  Rig four("meta-llama/Llama-3.1-8B", 4);
  four.model.kv_heads = 4;
  const StepShape shape = decode_shape(1, 100'000);
  const auto cache_slope = [&](const Rig& rig) { return rig.cost()->decode_line(shape)->slope_ns; };
  CHECK(cache_slope(eight) == cache_slope(four));
}

TEST_CASE("what cannot be priced is refused by name") {
  CHECK(Rig("mistralai/Mixtral-8x7B-v0.1").problem().message.find("8 experts a layer (MoE)") !=
        std::string::npos);
  CHECK(Rig("meta-llama/Llama-3.1-8B", 3).problem().message == "cannot split 32 heads among tp 3 ranks");
  CHECK(Rig("meta-llama/Llama-3.1-8B", 16).problem().message.find("nodes of 8 devices") != std::string::npos);
  Rig stages;
  stages.context.pp = 2;
  CHECK(stages.problem().path == "spec.layout.pp");
  Rig fp4;
  fp4.context.dtype = DType::kNvfp4;
  CHECK(fp4.problem().message == "h100-sxm states no peak for nvfp4 weights");
  CHECK(problem_making("analytic", {}).path == "spec.model");
}

TEST_CASE("fp8 halves the weights' bytes and doubles the peak") {
  Rig rig;
  const StepShape decode = decode_shape(1, 1);
  const double bf16 = part(cost_of(*rig.cost(), decode), OpClass::kGemm).bytes;
  rig.context.dtype = DType::kF8E4M3;
  const double fp8 = part(cost_of(*rig.cost(), decode), OpClass::kGemm).bytes;
  const double layers = 32.0 * (2 * 4096 * 4096 + 2 * 4096 * 1024 + 3.0 * 4096 * 14336);
  CHECK(bf16 - fp8 == layers);
}

TEST_CASE("all of its evidence is analytic, and its description names model, device and kernels") {
  const auto cost = Rig().cost();
  CHECK(cost->evidence() == Evidence::kAnalytic);
  for (const OpCost& op : cost_of(*cost, decode_shape(4, 100)).ops) CHECK(op.evidence == Evidence::kAnalytic);
  const std::string text = cost->describe();
  for (const char* word : {"Llama-3.1-8B", "h100-sxm", "tp 1", "bf16", "step=200us", "gemm_memory=0.9"}) {
    INFO(text);
    CHECK(text.find(word) != std::string::npos);
  }
}

TEST_CASE("a step's table has a line for each operation that costs time, and the total") {
  StepCost cost;
  cost.ops[0] = {1.5e6, 4e9, 2e6, Evidence::kAnalytic, Bound::kMemory};
  cost.total = Duration{1'500'000};
  CHECK(to_text(cost) ==
        "operation                       ms         GFLOP            MB     FLOP/byte         bound      "
        "evidence\n"
        "gemm                         1.500         4.000         2.000     2,000.000        memory      "
        "analytic\n"
        "total                        1.500                                                                  "
        "    \n");
}

TEST_CASE("every number of model, device and engine enters the profile's hash") {
  Rig rig;
  const std::uint64_t hash = rig.cost()->profile_hash();
  CHECK(rig.cost({{"sequence", "10us"}})->profile_hash() != hash);
  rig.device.memory_bandwidth.value *= 2;
  CHECK(rig.cost()->profile_hash() != hash);
  rig.device = h100();
  rig.device.efficiency.attention_memory = 0.7;
  CHECK(rig.cost()->profile_hash() != hash);
  rig.device = h100();
  rig.model.layers = 31;
  CHECK(rig.cost()->profile_hash() != hash);
}

TEST_CASE("rules are told the same times that the simulation uses") {
  const auto cost = Rig().cost();
  const CostEstimator estimator(*cost);
  const StepShape shape = with_prefill(decode_shape(8, 500), 300, 10).shape;
  CHECK(estimator.estimate(shape) == time_of(*cost, shape));
  CHECK(estimator.profile_hash() == cost->profile_hash());
}

}  // namespace
}  // namespace servetwin::analytic_test
