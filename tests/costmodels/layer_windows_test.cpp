// If these fail, layers with a window are priced as if they saw all of a sequence, or nothing of it.
#include "costmodels/layer_windows.h"

#include "tests/costmodels/operator_rig.h"
#include "tests/support/catch.h"

namespace servetwin::layer_windows_test {
namespace {

constexpr std::int64_t kWindow = 128;

// A model whose every other layer has a window, and the same without.
struct Case {
  Case()
      : whole(llama_8b()),
        model(whole),
        device(h100_with_operators()),
        engine(engine_by_hand()),
        operators(starting_profile(device)) {
    model.sliding_window = kWindow;
    for (std::int64_t i = 0; i < model.layers; ++i) model.full_attention.push_back(i % 2 == 1);
    context.device = &device;
    context.engine = &engine;
    context.operators = &operators;
    context.limits = {8192, 256, 8192};
  }

  std::unique_ptr<CostModel> cost(const std::string& name, const ModelSpec& of) {
    context.model = &of;
    return make_cost(name, name == "hybrid" ? Entries{{"engine", "by-hand"}} : Entries{}, context);
  }

  ModelSpec whole;
  ModelSpec model;
  DeviceSpec device;
  EngineSet engine;
  OperatorProfile operators;
  CostContext context;
};

TestStep windowed(TestStep step, std::int64_t window = kWindow) {
  StepShape& shape = step.shape;
  shape.window = window;
  if (shape.decode_sequences > 0)
    shape.window_context =
        shape.decode_sequences * std::min(window, shape.decode_context / shape.decode_sequences);
  shape.window_pairs = 0;
  for (const PrefillRow& row : step.prefill_rows)
    shape.window_pairs += pairs_in_window(row.tokens, row.context, window);
  return step;
}

TEST_CASE("pairs within a window are what a loop over queries counts") {
  for (const std::int64_t window : {1, 2, 5, 64}) {
    for (const std::int64_t context : {0, 1, 4, 5, 63, 64, 200}) {
      for (const std::int64_t tokens : {1, 2, 5, 64, 100}) {
        std::int64_t pairs = 0;
        for (std::int64_t i = 1; i <= tokens; ++i) pairs += std::min(context + i, window);
        REQUIRE(pairs_in_window(tokens, context, window) == pairs);
      }
    }
  }
}

TEST_CASE("a window that no context exceeds is none") {
  Case c;
  for (const char* name : {"analytic", "hybrid"}) {
    INFO(name);
    c.context.limits.context = 8192;
    CHECK(c.cost(name, c.model)->window() == kWindow);
    c.context.sink = 4;
    CHECK(c.cost(name, c.model)->window() == kWindow + 4);
    c.context.sink = 0;
    c.context.limits.context = kWindow;
    const auto cost = c.cost(name, c.model);
    const auto same = c.cost(name, c.whole);
    CHECK(cost->window() == 0);
    for (std::uint64_t n = 0; n < 50; ++n)
      REQUIRE(time_of(*cost, random_step(n)) == time_of(*same, random_step(n)));
  }
}

TEST_CASE("a decode step reads the window in some layers and everything in the others") {
  Case c;
  for (const char* name : {"analytic", "hybrid"}) {
    INFO(name);
    const auto cost = c.cost(name, c.model);
    const auto whole = c.cost(name, c.whole);
    const auto ns = [&](const CostModel& of, const TestStep& step) {
      return static_cast<double>(time_of(of, step).count());
    };
    const double all = ns(*whole, decode_shape(64, 4096));
    const double few = ns(*whole, decode_shape(64, kWindow));
    const TestStep step = windowed(decode_shape(64, 4096));
    CHECK(ns(*cost, step) == Approx((all + few) / 2).epsilon(1e-3));
    CHECK_FALSE(cost->decode_line(step.shape).has_value());
    const OpCost decode = part(cost_of(*cost, step), OpClass::kAttentionDecode);
    const double keys = 4.0 * 32 * 128 * 16;
    CHECK(decode.flops == Approx(keys * 64 * (4096 + kWindow)));
    // Twice the context costs only where it is seen.
    const double longer = ns(*cost, windowed(decode_shape(64, 8192))) - ns(*cost, step);
    CHECK(longer == Approx((ns(*whole, decode_shape(64, 8192)) - all) / 2).epsilon(1e-3));
  }
}

TEST_CASE("a prompt computes a band in some layers and the triangle in the others") {
  Case c;
  for (const char* name : {"analytic", "hybrid"}) {
    INFO(name);
    const auto cost = c.cost(name, c.model);
    const auto whole = c.cost(name, c.whole);
    const auto prefill = [&](const CostModel& of, const TestStep& step) {
      return part(cost_of(of, step), OpClass::kAttentionPrefill);
    };
    const double pair = 4.0 * 32 * 128 * 16;
    for (const auto& [tokens, context] :
         {std::pair<std::int64_t, std::int64_t>{100, 0}, {8192, 0}, {512, 6000}}) {
      const TestStep step = windowed(with_prefill(TestStep{}, tokens, context));
      const double triangle = static_cast<double>(tokens * context + tokens * (tokens + 1) / 2);
      const double band = static_cast<double>(step.shape.window_pairs);
      CHECK(prefill(*cost, step).flops == Approx(pair * (triangle + band)));
      CHECK(prefill(*cost, step).ns <= prefill(*whole, step).ns);
    }
    // Within the window nothing changes; far beyond it half of the layers cost next to nothing.
    const TestStep shorter = windowed(with_prefill(TestStep{}, 100, 20));
    CHECK(prefill(*cost, shorter).ns == Approx(prefill(*whole, shorter).ns).epsilon(1e-9));
    const TestStep longer = windowed(with_prefill(TestStep{}, 8192, 0));
    const double share = prefill(*cost, longer).ns / prefill(*whole, longer).ns;
    CHECK(share > 0.5);
    CHECK(share < 0.7);
  }
}

TEST_CASE("measured kernels have no windows, so that theirs are extrapolated, and descriptions say so") {
  Case c;
  const TestStep step = windowed(with_prefill(decode_shape(8, 1000), 300, 500));
  const auto cost = c.cost("hybrid", c.model);
  CHECK(part(cost_of(*cost, step), OpClass::kAttentionDecode).evidence == Evidence::kExtrapolated);
  CHECK(part(cost_of(*cost, step), OpClass::kAttentionPrefill).evidence == Evidence::kExtrapolated);
  CHECK(part(cost_of(*cost, step), OpClass::kGemm).evidence == Evidence::kInterpolated);
  const auto whole = c.cost("hybrid", c.whole);
  CHECK(part(cost_of(*whole, step), OpClass::kAttentionDecode).evidence == Evidence::kInterpolated);
  CHECK(cost->describe().find("16 of 32 layers see 128 tokens") != std::string::npos);
  CHECK(whole->describe().find("layers see") == std::string::npos);
}

}  // namespace
}  // namespace servetwin::layer_windows_test
