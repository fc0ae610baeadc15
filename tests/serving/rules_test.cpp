// If one of these fails, a rule orders, picks or refuses otherwise than its formula says.
#include <chrono>

#include "engine/base/registry.h"
#include "engine/serving/preset.h"
#include "tests/support/catch.h"
#include "tests/support/check_throws.h"

namespace servetwin::rules_test {
namespace {

using namespace std::chrono_literals;

// A millisecond a token, and a microsecond for each pair of tokens.
class Estimator final : public StepTimeEstimator {
 public:
  Duration estimate(const StepShape& shape) const override {
    return 1ms * shape.prefill_tokens + 1us * shape.prefill_q_squared;
  }
  std::uint64_t profile_hash() const override { return 1; }
};

const Estimator kEstimator;

RuleContext full_context() {
  RuleContext context;
  context.estimator = &kEstimator;
  context.classes = {{1s, 100ms}, {5s, 100ms}};
  context.swap_block_ns = 10e6;
  return context;
}

RuleSet with_order(const char* name, const char* predictor = "none") {
  RuleNames names;
  names.waiting_order = name;
  names.predictor = predictor;
  return make_rules(names, {}, full_context());
}

// A request that waits, and what the order sees of it.
struct Waiting {
  RequestSpec request;
  WaitingView view;

  Waiting(std::uint32_t id, Duration arrival, std::int64_t prompt) {
    request.id = RequestId{id};
    request.arrival = kTimeZero + arrival;
    request.prompt = Tokens{prompt};
    request.max_tokens = Tokens{1000};
    view.place = id;
    view.rest = request.prompt;
    view.now = kTimeZero + 10s;
  }
  const WaitingView& seen() {
    view.request = &request;
    return view;
  }
};

bool first(const RuleSet& rules, Waiting& a, Waiting& b) {
  const bool a_first = rules.waiting_order->before(a.seen(), b.seen());
  CHECK(rules.waiting_order->before(b.seen(), a.seen()) == !a_first);
  return a_first;
}

TEST_CASE("a rule that lacks a predictor, an estimator or objectives is refused by its name") {
  struct Lack {
    const char* order;
    const char* what;
  };
  for (const Lack& lack : {Lack{"sjf", "predict"}, Lack{"srtf", "predict"}, Lack{"edf", "ttft"},
                           Lack{"least_laxity", "ttft"}, Lack{"slo_slack", "ttft"}}) {
    RuleNames names;
    names.waiting_order = lack.order;
    INFO(lack.order);
    try {
      make_rules(names);
      CHECK(false);
    } catch (const ConfigError& error) {
      CHECK(std::string(error.what()).find(lack.order) != std::string::npos);
      CHECK(std::string(error.what()).find(lack.what) != std::string::npos);
    }
  }
  RuleContext context = full_context();
  context.estimator = nullptr;
  RuleNames names;
  names.waiting_order = "least_laxity";
  CHECK_THROWS_AS(make_rules(names, {}, context), ConfigError);
  names = RuleNames{};
  names.pressure = "priced";
  CHECK_THROWS_AS(make_rules(names, {}, context), ConfigError);
  // One class without a limit is enough.
  context = full_context();
  context.classes.push_back({});
  names = RuleNames{};
  names.waiting_order = "edf";
  CHECK_THROWS_AS(make_rules(names, {}, context), ConfigError);
}

TEST_CASE("a step of priority is worth tau of waiting") {
  const RuleSet rules = with_order("priority_ageing");  // tau 10 s
  Waiting old(1, 0s, 10);
  old.request.priority = 1;
  Waiting important(2, 9s, 10);
  Waiting late(3, 11s, 10);
  CHECK(first(rules, important, old));
  CHECK(first(rules, old, late));
}

TEST_CASE("EDF serves by deadline of the class") {
  const RuleSet rules = with_order("edf");
  Waiting patient(1, 0s, 10);
  patient.request.traffic_class = ClassId{1};
  Waiting urgent(2, 3s, 10);
  Waiting late(3, 4500ms, 10);
  CHECK(first(rules, urgent, patient));
  CHECK(first(rules, patient, late));
}

TEST_CASE("laxity counts the prefill that is missing, not what the cache holds") {
  const RuleSet rules = with_order("least_laxity");
  Waiting brief(1, 0s, 10);
  Waiting document(2, 100ms, 500);  // 750 ms to compute
  CHECK(first(rules, document, brief));
  document.view.rest = Tokens{10};
  CHECK(first(rules, brief, document));
}

TEST_CASE("SLO slack puts those whose objective is lost last") {
  const RuleSet rules = with_order("slo_slack");
  Waiting lost(1, 0s, 10);
  Waiting tight(2, 9500ms, 10);
  Waiting loose(3, 9900ms, 10);
  CHECK(first(rules, tight, loose));
  CHECK(first(rules, loose, lost));
  lost.view.now = tight.view.now = kTimeZero + 60s;
  CHECK(first(rules, lost, tight));
}

TEST_CASE("SRTF counts outputs left and what must be computed again") {
  const RuleSet rules = with_order("srtf", "oracle");
  Waiting a(1, 0s, 10);
  Waiting b(2, 0s, 10);
  a.request.told_outputs = 100;
  b.request.told_outputs = 90;
  CHECK(first(rules, b, a));
  a.view.outputs = Tokens{50};
  a.view.rest = Tokens{60};
  CHECK(first(rules, a, b));
  a.view.rest = Tokens{2000};  // at 0.05 each more than b's 40 outputs that are ahead
  CHECK(first(rules, b, a));
}

TEST_CASE("longest prefix match looks at the cache while few wait, and shortest prefill at what is left") {
  RuleSet lpm = with_order("lpm");
  Waiting cold(1, 0s, 50);
  Waiting warm(2, 0s, 400);
  warm.view.rest = Tokens{100};
  lpm.waiting_order->on_plan(kTimeZero, 2);
  CHECK(lpm.waiting_order->sees_cache());
  CHECK(first(lpm, warm, cold));
  lpm.waiting_order->on_plan(kTimeZero, 129);
  CHECK_FALSE(lpm.waiting_order->sees_cache());
  CHECK(first(lpm, cold, warm));

  RuleSet shortest = with_order("shortest_uncached");
  CHECK(first(shortest, cold, warm));
  warm.view.rest = Tokens{20};
  CHECK(first(shortest, warm, cold));
  RuleListener& told = *shortest.waiting_order->listener();
  told.on_joined(cold.request, kTimeZero);
  for (int i = 0; i < 63; ++i) told.on_admitted(warm.request, Tokens{0}, false, kTimeZero);
  told.on_joined(warm.request, kTimeZero);
  CHECK(first(shortest, warm, cold));
  told.on_admitted(warm.request, Tokens{0}, false, kTimeZero);
  CHECK(first(shortest, cold, warm));
}

TEST_CASE("a tenant that comes back after a pause has earned nothing by it") {
  RuleSet rules = with_order("vtc");
  RuleListener& told = *rules.waiting_order->listener();
  Waiting busy(1, 0s, 100);
  busy.request.tenant = TenantId{1};
  Waiting more(2, 0s, 100);
  more.request.tenant = TenantId{1};
  Waiting back(3, 0s, 100);
  back.request.tenant = TenantId{2};
  told.on_joined(busy.request, kTimeZero);
  told.on_joined(more.request, kTimeZero);
  told.on_admitted(busy.request, Tokens{0}, false, kTimeZero);
  told.on_joined(back.request, kTimeZero);  // lifted to the 100 of tenant 1
  told.on_admitted(back.request, Tokens{0}, false, kTimeZero);
  Waiting again(4, 0s, 100);
  again.request.tenant = TenantId{2};
  told.on_joined(again.request, kTimeZero);
  CHECK(first(rules, more, again));
  for (int i = 0; i < 60; ++i) told.on_output(busy.request, kTimeZero);
  CHECK(first(rules, again, more));
}

TEST_CASE(
    "a job sinks a level when its quantum is used up, joins by its prefill, and starves no longer than "
    "said") {
  RuleSet rules = with_order("mlfq");  // quantum 32, prefill 0.05 a token, promotion after 10 s
  RuleListener& told = *rules.waiting_order->listener();
  Waiting a(1, 9s, 10);
  Waiting b(2, 9500ms, 10);
  Waiting document(3, 8s, 2000);  // prefill of 100 outputs: joins below
  for (Waiting* one : {&a, &b, &document}) told.on_joined(one->request, one->request.arrival);
  CHECK(first(rules, a, b));
  CHECK(first(rules, b, document));
  told.on_admitted(a.request, Tokens{0}, false, kTimeZero + 9s);
  for (int i = 0; i < 31; ++i) told.on_output(a.request, kTimeZero + 9s);
  CHECK(first(rules, a, b));
  told.on_output(a.request, kTimeZero + 9s);
  CHECK(first(rules, b, a));
  document.view.now = b.view.now = kTimeZero + 18s;
  CHECK(first(rules, document, b));
}

TEST_CASE("readers who have more than they can read wait for those who have less") {
  const RuleSet rules = with_order("andes");  // first token after 1 s, then 5 a second
  Waiting hungry(1, 2s, 100);
  Waiting sated(2, 2s, 100);
  hungry.view.outputs = Tokens{20};
  sated.view.outputs = Tokens{80};
  CHECK(first(rules, hungry, sated));
  Waiting document(3, 2s, 1000);  // ten times the KV for the same gain
  Waiting brief(4, 2s, 100);
  CHECK(first(rules, brief, document));
}

std::size_t victim(const char* name, const std::vector<RunningView>& running) {
  RuleNames names;
  names.victim = name;
  return make_rules(names).victim->pick(running);
}

TEST_CASE("victims: least computed, fewest outputs, and least lost of those that hold something alone") {
  RequestSpec request;
  request.prompt = Tokens{10};
  RequestSpec longer = request;
  longer.prompt = Tokens{20};
  const std::vector<RunningView> running = {{&request, Tokens{50}, Tokens{9}, 0, Blocks{3}},
                                            {&longer, Tokens{90}, Tokens{9}, 0, Blocks{1}},
                                            {&request, Tokens{40}, Tokens{30}, 0, Blocks{4}},
                                            {&request, Tokens{95}, Tokens{85}, 0, Blocks{0}}};
  CHECK(victim("least_computed", running) == 2);
  CHECK(victim("fewest_outputs", running) == 1);
  CHECK(victim("least_lost", running) == 1);
  CHECK(victim("last_admitted", running) == 3);
}

TEST_CASE("the priced rule recomputes short contexts and copies long ones, where the host has room") {
  RuleNames names;
  names.pressure = "priced";
  const RuleSet rules = make_rules(names, {}, full_context());
  const EngineConfig config;
  RequestSpec request;
  // 20 ms to copy a block of 16 tokens out and back; 16 ms and 16² µs to compute it again.
  PressureView view{&request, Tokens{16}, Blocks{1}, Blocks{100}};
  CHECK(rules.pressure->decide(view, config) == Pressure::kRecompute);
  view = {&request, Tokens{800}, Blocks{50}, Blocks{100}};
  CHECK(rules.pressure->decide(view, config) == Pressure::kSwap);
  view.host_free = Blocks{49};
  CHECK(rules.pressure->decide(view, config) == Pressure::kRecompute);
}

}  // namespace
}  // namespace servetwin::rules_test
