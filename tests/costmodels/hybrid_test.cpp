// If this fails, a step's price is not the sum of measured kernels and an engine's own times.
#include "costmodels/decode_surface.h"
#include "costmodels/operator_times.h"
#include "costmodels/token_curve.h"
#include "tests/costmodels/operator_rig.h"
#include "tests/support/catch.h"

namespace servetwin::hybrid_test {
namespace {

struct Rig {
  explicit Rig(const std::string& name = "meta-llama/Llama-3.1-8B")
      : model(catalogue_model(name)),
        device(h100_with_operators()),
        engine(engine_by_hand()),
        operators(starting_profile(device)) {
    context.model = &model;
    context.device = &device;
    context.engine = &engine;
    context.operators = &operators;
    context.limits = {2048, 256, 8192};
  }
  std::unique_ptr<CostModel> cost(const Entries& more = {}) const {
    Entries entries{{"engine", "by-hand"}};
    entries.insert(entries.end(), more.begin(), more.end());
    return make_cost("hybrid", entries, context);
  }
  Problem problem(const Entries& more = {}) const {
    Entries entries{{"engine", "by-hand"}};
    entries.insert(entries.end(), more.begin(), more.end());
    return problem_making("hybrid", entries, context);
  }

  ModelSpec model;
  DeviceSpec device;
  EngineSet engine;
  OperatorProfile operators;
  CostContext context;
};

TEST_CASE("a token curve is exact at its knots and straight between them") {
  const auto square = [](double t) { return t * t; };
  const TokenCurve curve(5000, square);
  for (const std::int64_t t : {0, 1, 511, 512, 528, 1024, 1056, 4096, 4224})
    CHECK(curve.at(t) == square(static_cast<double>(t)));
  CHECK(curve.at(520) == Approx((square(512) + square(528)) / 2));
  CHECK(curve.at(100'000) > curve.at(5000));
  CHECK(TokenCurve().at(7) == 0);
}

TEST_CASE("a decode surface gives a line through its knots, and says how far it holds") {
  const auto time = [](double rows, double context) { return 100 + 3 * rows + 0.5 * rows * context; };
  const DecodeSurface surface(8, 4096, time);
  for (const std::int64_t rows : {1, 3, 8}) {
    for (const double context : {1.0, 17.0, 250.0, 5000.0}) {
      const double keys = context * static_cast<double>(rows);
      const DecodeLine line = surface.line(rows, keys);
      CHECK(line.at(keys) == Approx(time(static_cast<double>(rows), context)));
      CHECK(line.from <= keys);
      CHECK(keys < line.until);
    }
  }
}

TEST_CASE("products of a step cost what the kernel formula says, layer by layer") {
  const Rig rig;
  const auto cost = rig.cost();
  const StepCost step = cost_of(*cost, decode_shape(8, 1000));
  const OperatorTimes times(rig.operators, rig.device, rig.model, OperatorChoice{});
  double ns = 0;
  for (const auto& [n, k] :
       {std::pair{6144.0, 4096.0}, {4096.0, 4096.0}, {28672.0, 4096.0}, {4096.0, 14336.0}})
    ns += 32 * times.product(8, {n, k, 32, true, false});
  ns += times.product(8, {128256, 4096, 1, false, false});
  CHECK(part(step, OpClass::kGemm).ns == Approx(ns));
  // 16 bits: two FLOPs a weight and row; 8.03e9 parameters less the embedding.
  CHECK(part(step, OpClass::kGemm).flops == Approx(2.0 * 8 * (8.0303e9 - 128256.0 * 4096)).epsilon(0.001));
  CHECK(part(step, OpClass::kGemm).evidence == Evidence::kInterpolated);
}

TEST_CASE("the engine's own times are host and launch, and only the overlapped share is the host's") {
  const Rig rig;
  const StepCost step = cost_of(*rig.cost(), decode_shape(8, 1000));
  const double host = 200'000 + 8 * 5'000;
  CHECK(part(step, OpClass::kHost).ns == Approx(0.25 * host));
  CHECK(part(step, OpClass::kLaunch).ns == Approx(32 * 2'000 + 0.75 * host));
}

TEST_CASE("tensor parallelism divides products and adds collectives") {
  Rig rig;
  const double alone = part(cost_of(*rig.cost(), decode_shape(8, 1000)), OpClass::kGemm).ns;
  rig.context.tp = 2;
  const StepCost step = cost_of(*rig.cost(), decode_shape(8, 1000));
  CHECK(part(step, OpClass::kGemm).ns < 0.75 * alone);
  // 65 all-reduces of 8 · 4096 · 2 bytes and one gather of 8 rows of logits.
  const double reduce = 4 + (65536.0 - 1024) / (1048576 - 1024) * 8;
  const double gather = 10 + (8 * 128256.0 * 2 - 1048576) / (1048576 - 1024) * 5;
  CHECK(part(step, OpClass::kCollective).ns == Approx(1e3 * (65 * reduce + gather)));
}

TEST_CASE("collectives that were measured on another device are called extrapolated, the rest is not") {
  Rig rig;
  rig.context.tp = 2;
  const StepCost own = cost_of(*rig.cost(), decode_shape(8, 1000));
  CHECK(part(own, OpClass::kCollective).evidence == Evidence::kInterpolated);
  for (CollectiveTimes& one : rig.operators.collectives) one.device = "its twin";
  const StepCost borrowed = cost_of(*rig.cost(), decode_shape(8, 1000));
  CHECK(part(borrowed, OpClass::kCollective).evidence == Evidence::kExtrapolated);
  CHECK(part(borrowed, OpClass::kCollective).ns == part(own, OpClass::kCollective).ns);
  CHECK(part(borrowed, OpClass::kGemm).evidence == Evidence::kInterpolated);
}

TEST_CASE("experts and latent attention are priced, and compute only what a token is routed to") {
  Rig mixtral("mistralai/Mixtral-8x7B-v0.1");
  const StepCost few = cost_of(*mixtral.cost(), decode_shape(1, 100));
  const StepCost many = cost_of(*mixtral.cost(), decode_shape(64, 100));
  CHECK(part(few, OpClass::kMoe).ns > 0);
  CHECK(part(few, OpClass::kMoe).flops == Approx(2.0 * 32 * 2 * 3 * 4096 * 14336));
  CHECK(part(many, OpClass::kMoe).ns > 2 * part(few, OpClass::kMoe).ns);  // more experts are touched
  Rig deepseek("deepseek-ai/DeepSeek-V3");
  deepseek.context.dtype = DType::kBF16;
  CHECK(part(cost_of(*deepseek.cost(), decode_shape(4, 1000)), OpClass::kAttentionDecode).ns > 0);
}

TEST_CASE("a borrowed profile is scaled by the limits and called extrapolated") {
  Rig rig;
  const StepCost own = cost_of(*rig.cost(), decode_shape(8, 4000));
  rig.device.name = "twice";
  rig.device.memory_bandwidth = BytesPerSecond{6.7e12};
  const auto cost = rig.cost();
  const StepCost borrowed = cost_of(*cost, decode_shape(8, 4000));
  CHECK(part(borrowed, OpClass::kGemm).ns < 0.7 * part(own, OpClass::kGemm).ns);
  CHECK(part(borrowed, OpClass::kGemm).evidence == Evidence::kExtrapolated);
  CHECK(cost->describe().find("scaled by the limits of both") != std::string::npos);
}

TEST_CASE("formats that only compress weights are read in fewer bytes and computed in 16 bits") {
  const Rig rig;
  OperatorChoice choice;
  choice.weights = DType::kInt4G128;
  const OperatorTimes compressed(rig.operators, rig.device, rig.model, choice);
  const OperatorTimes plain(rig.operators, rig.device, rig.model, OperatorChoice{});
  const LayerProduct product{28672, 4096, 1, true, false};
  CHECK(compressed.product(1, product) < 0.5 * plain.product(1, product));
  CHECK(compressed.product(4096, product) == Approx(plain.product(4096, product)).epsilon(0.1));
}

TEST_CASE(
    "experts compute at their format's rate: whole 4-bit blocks only where the device multiplies them") {
  Rig rig("mistralai/Mixtral-8x7B-v0.1");
  rig.operators.fits.push_back(starting_fit("experts", "fp8_block", limits_of(rig.device)));
  rig.operators.fits.push_back(starting_fit("experts", "mxfp4", limits_of(rig.device)));
  rig.operators.fits.push_back(starting_fit("gemm_fp8_block", "fp8_block", limits_of(rig.device)));
  const auto us = [&](DType weights, double tokens) {
    OperatorChoice choice;
    choice.weights = weights;
    choice.fp8_scales = Fp8Scales::kBlock;
    const OperatorTimes times(rig.operators, rig.device, rig.model, choice);
    return times.experts(tokens, expert_layers(rig.model, {1, 1, 1})) / 1e3;
  };
  const double many = 65'536;
  CHECK(us(DType::kBF16, many) / us(DType::kF8E4M3, many) == Approx(2).epsilon(0.2));
  CHECK(us(DType::kMxfp4, many) == Approx(us(DType::kBF16, many)).epsilon(0.1));
  const double few = us(DType::kMxfp4, 64);
  CHECK(few < 0.5 * us(DType::kBF16, 64));
  rig.device.peak.fp4 = FlopsPerSecond{3956e12};
  CHECK(us(DType::kBF16, many) / us(DType::kNvfp4, many) == Approx(4).epsilon(0.4));
  CHECK(us(DType::kMxfp4, many) == Approx(us(DType::kF8E4M3, many)).epsilon(0.1));
}

TEST_CASE("where clients ask for neither top-p nor top-k, a row is gone through once") {
  Rig rig;
  rig.engine.times.sampling = Duration{200'000};
  rig.engine.times.sampling_logit_ns = 0.2;
  const auto sampling = [&](const Entries& more) {
    return part(cost_of(*rig.cost(more), decode_shape(64, 1000)), OpClass::kSampling).ns;
  };
  CHECK(sampling({}) == Approx(200'000 + 0.2 * 64 * 128'256));
  CHECK(sampling({{"sampler", "filtered"}}) == sampling({}));
  CHECK(sampling({{"sampler", "greedy"}}) == Approx(200'000 + 0.01 * 64 * 128'256));
  rig.engine.times.sampling_logit_ns = 0.005;
  CHECK(sampling({{"sampler", "greedy"}}) == sampling({}));
}

TEST_CASE("gpt-oss keeps attention in 16 bits, and windows in every other layer") {
  Rig rig("openai/gpt-oss-120b");
  const std::vector<LayerProduct> products = layer_products(rig.model, {1, 1, 1});
  for (const LayerProduct& one : products) CHECK_FALSE(one.quantised);
  rig.operators.fits.push_back(starting_fit("attention_decode_fa3", "bf16/64", limits_of(rig.device)));
  rig.operators.fits.push_back(starting_fit("attention_prefill_fa3", "bf16/64", limits_of(rig.device)));
  rig.operators.fits.push_back(starting_fit("experts", "mxfp4", limits_of(rig.device)));
  const auto cost = rig.cost();
  CHECK(cost->window() == 128);
  CHECK(cost->describe().find("18 of 36 layers see 128 tokens") != std::string::npos);
}

TEST_CASE("no operation is faster than the device's limits") {
  Rig rig;
  for (OperatorFit& fit : rig.operators.fits) {
    for (auto& [name, node] : fit.numbers.entries) node.text = name == "bandwidth" ? "9" : node.text;
  }
  for (const std::int64_t rows : {1, 64, 256}) {
    const StepCost step = cost_of(*rig.cost(), decode_shape(rows, 10));
    const OpCost& gemm = part(step, OpClass::kGemm);
    CHECK(gemm.ns >= gemm.flops / 989e3 * 0.999);
    CHECK(gemm.ns >= 2 * (8.0303e9 - 128256.0 * 4096) / 3.35e3 * 0.99);
  }
}

TEST_CASE("latent attention's work is that of the latent cache") {
  Rig rig("deepseek-ai/DeepSeek-V3");
  rig.context.dtype = DType::kBF16;
  const StepCost step = cost_of(*rig.cost(), decode_shape(4, 1000));
  const OpCost& decode = part(step, OpClass::kAttentionDecode);
  CHECK(decode.bytes == Approx(61.0 * 4000 * 576 * 2));
  CHECK(decode.flops == Approx(61.0 * 4000 * 128 * 2 * 1088));
}

TEST_CASE("what measured kernels cannot price is refused by name") {
  Rig rig;
  for (const DType type : {DType::kF32, DType::kI8, DType::kF8E5M2}) {
    rig.context.dtype = type;
    CHECK(rig.problem().path == "spec.engine.dtype");
  }
  rig.context.dtype.reset();
  rig.context.kv_dtype = DType::kF32;
  CHECK(rig.problem().path == "spec.engine.kv_dtype");
  rig.context.kv_dtype.reset();
  CHECK(rig.problem({{"ep", "2"}}).path == "spec.cost.ep");
  rig.context.operators = nullptr;
  CHECK(rig.problem().message.find("operator profile") != std::string::npos);
  rig.context.operators = &rig.operators;
  rig.context.tp = 3;
  CHECK(rig.problem().message == "cannot divide 32 heads among 3");
  rig.context.tp = 16;
  CHECK(rig.problem().message.find("spans nodes") != std::string::npos);
  rig.context.tp = 1;
  rig.context.pp = 2;
  CHECK(rig.problem().message.find("pipeline") != std::string::npos);
  rig.context.pp = 1;
  rig.operators.fits.clear();
  CHECK(rig.problem().message.find("has no 16-bit matrix products") != std::string::npos);
}

}  // namespace
}  // namespace servetwin::hybrid_test
