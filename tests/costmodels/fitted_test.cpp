// If these fail, a profile prices steps otherwise than it says, is used for what it was not measured on, or
// does not read back as it was written.
#include "tests/costmodels/fitted_profile.h"
#include "tests/support/catch.h"

namespace servetwin::fitted_test {
namespace {

class FittedRig {
 public:
  FittedRig() : model_(llama_8b()), device_(h100()), context(fitted_context(model_, device_)) {
    profile_to_read() = profile_by_hand(model_);
  }

  std::unique_ptr<CostModel> make(const Entries& more = {}) const {
    Entries entries{{"profile", "p.yaml"}};
    entries.insert(entries.end(), more.begin(), more.end());
    return make_cost("fitted", entries, context);
  }
  Problem problem(const Entries& more = {}) const {
    Entries entries{{"profile", "p.yaml"}};
    entries.insert(entries.end(), more.begin(), more.end());
    return problem_making("fitted", entries, context);
  }

 private:
  ModelSpec model_;
  DeviceSpec device_;

 public:
  CostContext context;
};

TEST_CASE("a fitted decode step is base, tokens piece by piece, keys, rows, outputs and the host's part") {
  const FittedRig rig;
  StepShape shape = decode_shape(10, 100);
  shape.graph_size = 0;
  // 250.5 + 1 * 1000 + 7 * 300.25 + 2 * 10.125 + 1000 * 0.37 + 10 * (7 + 3.5) + 5000 + 10 * (40 + 2)
  CHECK(time_of(*rig.make(), shape) == duration_from_ns(9267.5));
  shape.graph_size = 16;  // six tokens more
  CHECK(time_of(*rig.make(), shape) == duration_from_ns(9267.5 + 6 * 10.125));
  const StepCost cost = cost_of(*rig.make(), shape);
  CHECK(part(cost, OpClass::kHost).ns == 5420);
  CHECK(part(cost, OpClass::kAttentionDecode).ns == 370);
  CHECK(part(cost, OpClass::kSampling).ns == 35);
  CHECK(part(cost, OpClass::kAttentionPrefill).ns == 0);
}

TEST_CASE("a fitted prefill row adds its pairs, and the regime of steps with prompts") {
  const FittedRig rig;
  const TestStep step = with_prefill(TestStep{}, 4, 10);
  // Pairs: 4 * 10 + 4 * 5 / 2. One token of 1000 and three of 300.25.
  const double ns = 250.5 + 1000 + 3 * 300.25 + 7 + 100 + 20 + 4 * 1.5 + 50 * 0.11 + 5000 + 40;
  CHECK(time_of(*rig.make(), step) == duration_from_ns(ns));
}

TEST_CASE("a profile reads back as it was written, every number") {
  const StepProfile profile = profile_by_hand(llama_8b());
  const StepProfile again = profile_from(write_profile(profile));
  const FittedRig rig;
  CHECK(again.step.token_ns == profile.step.token_ns);
  CHECK(again.step.token_knots == profile.step.token_knots);
  CHECK(again.measured.cpu == "a processor");
  CHECK(again.domain.pairs == 10'000'000);
  CHECK(again.error.decode.low == -0.025);
  const auto before = rig.make()->profile_hash();
  profile_to_read() = again;
  CHECK(rig.make()->profile_hash() == before);
}

TEST_CASE("each number of a profile is in its hash") {
  const FittedRig rig;
  const auto before = rig.make()->profile_hash();
  const auto changed = [&](auto change) {
    profile_to_read() = profile_by_hand(llama_8b());
    change(profile_to_read());
    return rig.make()->profile_hash() != before;
  };
  CHECK(changed([](StepProfile& p) { p.step.token_ns[2] += 0.0625; }));
  CHECK(changed([](StepProfile& p) { p.step.token_knots[1] = 9; }));
  CHECK(changed([](StepProfile& p) { p.step.prefill_row_ns = 21; }));
  CHECK(changed([](StepProfile& p) { p.host.new_sequence_ns = 301; }));
  CHECK(changed([](StepProfile& p) { p.domain.tokens = 2049; }));
  CHECK(changed([](StepProfile& p) { p.measured.cpu = "another"; }));
  CHECK(changed([](StepProfile& p) { p.error.decode.p90 = 0.04; }));
}

TEST_CASE(
    "a profile of another device, model, number format or number of threads is refused, or extrapolates") {
  const FittedRig rig;
  const auto refused = [&](auto change, const std::string& says, const Entries& more = {}) {
    profile_to_read() = profile_by_hand(llama_8b());
    change(profile_to_read().measured);
    INFO(says);
    CHECK(rig.problem(more).message.find(says) != std::string::npos);
    Entries allowed = more;
    allowed.emplace_back("allow_mismatch", "true");
    const auto cost = rig.make(allowed);
    CHECK(cost->evidence() == Evidence::kExtrapolated);
    CHECK(cost->describe().find(says) != std::string::npos);
    CHECK(part(cost_of(*cost, decode_shape(1, 10)), OpClass::kGemm).evidence == Evidence::kExtrapolated);
  };
  refused([](ProfileSubject& m) { m.device = "cpu"; }, "device cpu, not h100-sxm");
  refused([](ProfileSubject& m) { m.shape = "layers 1"; }, "model layers 1, not LlamaForCausalLM layers 32");
  refused([](ProfileSubject& m) { m.dtype = "i8"; }, "weights i8, not bf16");
  refused([](ProfileSubject& m) { m.threads = 2; }, "threads 2, not 1", {{"threads", "1"}});
  CHECK(rig.problem().message == "was accepted");  // nobody said how many threads
  FittedRig other;
  other.context.kv_dtype = DType::kF8E4M3;
  CHECK(other.problem().message.find("KV cache bf16, not ") != std::string::npos);
  other.context.kv_dtype = DType::kBF16;
  CHECK(other.problem().message == "was accepted");
  other.context.tp = 2;
  CHECK(other.problem().message.find("ranks 1, not 2") != std::string::npos);
}

TEST_CASE("within the domain a fitted time is interpolated, beyond it extrapolated, or refused") {
  FittedRig rig;
  const auto evidence = [&](const TestStep& step) {
    return part(cost_of(*rig.make(), step), OpClass::kGemm).evidence;
  };
  CHECK(evidence(decode_shape(256, 100)) == Evidence::kInterpolated);
  CHECK(evidence(decode_shape(257, 100)) == Evidence::kExtrapolated);
  CHECK(evidence(decode_shape(200, 5001)) == Evidence::kExtrapolated);  // Σ context
  CHECK(evidence(with_prefill(TestStep{}, 2048, 0)) == Evidence::kInterpolated);
  CHECK(evidence(with_prefill(TestStep{}, 2049, 0)) == Evidence::kExtrapolated);
  CHECK(evidence(with_prefill(TestStep{}, 2000, 6000)) == Evidence::kExtrapolated);  // pairs
  CHECK(rig.make()->evidence() == Evidence::kInterpolated);
  const auto strict = rig.make({{"strict", "true"}});
  CHECK_NOTHROW(time_of(*strict, decode_shape(256, 100)));
  CHECK_THROWS_AS(time_of(*strict, decode_shape(257, 100)), ConfigError);
  CHECK_FALSE(strict->decode_line(decode_shape(1, 1)).has_value());
  CHECK(strict->profile_hash() != rig.make()->profile_hash());

  rig.context.limits = {4096, 256, 8192};
  CHECK(rig.make()->evidence() == Evidence::kExtrapolated);
  CHECK(rig.make()->describe().find("max_num_batched_tokens 4096") != std::string::npos);
  const Problem problem = rig.problem({{"strict", "true"}});
  CHECK(problem.path == "spec.engine.max_num_batched_tokens");
  CHECK(problem.remedy.find("2048") != std::string::npos);
}

TEST_CASE("a profile that makes no sense is refused") {
  const auto refused = [](auto change, const std::string& says) {
    StepProfile profile = profile_by_hand(llama_8b());
    change(profile);
    INFO(says);
    try {
      profile_from(write_profile(profile));
      CHECK(says == "was accepted");
    } catch (const ConfigError& error) {
      CHECK(std::string(error.what()).find(says) != std::string::npos);
    }
  };
  refused([](StepProfile& p) { p.step.token_ns.pop_back(); }, "token_ns");
  refused([](StepProfile& p) { p.step.token_knots = {8, 8, 64}; }, "ascend");
  refused([](StepProfile& p) { p.step.context_ns = -1; }, "-1");
  refused([](StepProfile& p) { p.step.token_ns[1] = -1; }, "-1");
  refused([](StepProfile& p) { p.domain.tokens = 0; }, "0");
  ConfigNode tree = write_profile(profile_by_hand(llama_8b()));
  tree.entries.front().second.text = "servetwin/v2";
  CHECK_THROWS_AS(profile_from(tree), ConfigError);
  const ModelSpec model = llama_8b();
  const DeviceSpec device = h100();
  CostContext no_reader = fitted_context(model, device);
  no_reader.load_tree = nullptr;
  CHECK(problem_making("fitted", {{"profile", "p"}}, no_reader).path == "spec.cost");
}

}  // namespace
}  // namespace servetwin::fitted_test
