// Who computes how many tokens in a step. If one fails, schedules differ from vLLM V1 although memory is
// plentiful.
#include "tests/support/golden_rig.h"

namespace servetwin::test_batch_composition {

namespace {

constexpr WaitsFor kRemote = WaitsFor::kRemoteKv;

RequestSpec blocked_request(std::uint32_t id, std::int64_t prompt, WaitsFor what = kRemote) {
  RequestSpec spec = request(id, prompt);
  spec.waits_for = what;
  return spec;
}

}  // namespace

TEST_CASE("ten small prompts enter in one step, in order of arrival") {
  on_each(roomy_setup(), [](GoldenRig& rig) {
    for (std::uint32_t id = 0; id < 10; ++id) rig.arrive(request(id, 10));
    CHECK(rig.step() == "0:10 1:10 2:10 3:10 4:10 5:10 6:10 7:10 8:10 9:10");
    CHECK(rig.hits() == "0:0 1:0 2:0 3:0 4:0 5:0 6:0 7:0 8:0 9:0");
    CHECK(rig.step() == "0:1 1:1 2:1 3:1 4:1 5:1 6:1 7:1 8:1 9:1");
  });
}

TEST_CASE("the long-prefill threshold caps each prompt and the budget the last one") {
  GoldenSetup setup = roomy_setup();
  setup.engine.max_num_batched_tokens = Tokens{1024};
  setup.engine.long_prefill_token_threshold = Tokens{400};
  on_each(setup, [](GoldenRig& rig) {
    for (std::uint32_t id = 0; id < 3; ++id) rig.arrive(request(id, 800));
    CHECK(rig.step() == "0:400 1:400 2:224");
    CHECK(rig.step() == "0:400 1:400 2:224");
    CHECK(rig.step() == "0:1 1:1 2:352");
  });
}

TEST_CASE("a chunked prompt fills the budget; a whole one that does not fit is overtaken by nobody") {
  GoldenSetup setup = roomy_setup();
  setup.engine.max_num_batched_tokens = Tokens{1024};
  setup.engine.max_num_seqs = 3;
  const auto arrive_all = [](GoldenRig& rig) {
    const std::int64_t prompts[] = {800, 800, 10, 10};
    for (std::uint32_t id = 0; id < 4; ++id) rig.arrive(request(id, prompts[id]));
  };
  on_each(setup, [&](GoldenRig& rig) {
    arrive_all(rig);
    CHECK(rig.step() == "0:800 1:224");
    CHECK(rig.step() == "0:1 1:576 2:10");
    CHECK(rig.step() == "0:1 1:1 2:1");  // the fourth waits for a slot
  });
  setup.engine.max_model_len = Tokens{1024};  // without chunks a prompt must fit the budget
  setup.engine.chunked_prefill = false;
  on_each(setup, [&](GoldenRig& rig) {
    arrive_all(rig);
    CHECK(rig.step() == "0:800");
    CHECK(rig.step() == "0:1 1:800 2:10");
  });
}

TEST_CASE("with two steps in flight a request whose output is out is passed over") {
  GoldenSetup setup = roomy_setup();
  setup.engine.max_num_batched_tokens = Tokens{1024};
  setup.engine.max_num_seqs = 2;
  setup.engine.in_flight.depth = 2;
  on_each(setup, [](GoldenRig& rig) {
    rig.arrive(request(0, 512));
    CHECK(rig.plan() == "0:512");
    CHECK(rig.plan().empty());
    rig.arrive(request(1, 512));
    CHECK(rig.plan() == "1:512");
    CHECK(rig.plan().empty());
    rig.finish(1);
    CHECK(rig.plan() == "0:1");
  });
}

TEST_CASE("asynchronous scheduling never plans one step too many") {
  GoldenSetup setup = roomy_setup();
  setup.engine.in_flight = {2, true};
  for (const std::int64_t max_tokens : {1, 2, 3, 7}) {
    GoldenScenario scenario{setup, {}, {std::chrono::milliseconds(10)}};
    for (std::uint32_t id = 0; id < 10; ++id) {
      scenario.jobs.push_back({request(id, 10 + id, max_tokens), max_tokens + 1, kTimeNever, kTimeNever});
    }
    for (const GoldenKind& kind : golden_kinds()) {
      INFO("on the " << kind.name << ", " << max_tokens << " outputs");
      const GoldenRun run = run_scenario(*kind.make(setup), scenario);
      std::int64_t scheduled = 0;
      for (const StepTrace& step : run.steps) {
        for (const auto& row : step.tokens) scheduled += row.second;
      }
      CHECK(scheduled == 145 + 10 * (max_tokens - 1));
      CHECK(run.ends.size() == 10);
      for (const EndTrace& end : run.ends) CHECK(end.outputs == max_tokens);
    }
  }
}

TEST_CASE("with two asynchronous steps in flight the k-th request aborted has exactly k outputs") {
  GoldenSetup setup = roomy_setup();
  setup.engine.in_flight = {2, true};
  on_each(setup, [](GoldenRig& rig) {
    const std::uint32_t order[] = {0, 8, 3, 1, 6, 4, 2, 5, 7, 9};
    for (std::uint32_t id = 0; id < 10; ++id) rig.arrive(request(id, 10, 20));
    CHECK_FALSE(rig.plan().empty());
    CHECK_FALSE(rig.plan().empty());
    for (std::int64_t k = 0; k < 10; ++k) {
      const std::uint32_t id = order[k];
      rig.driver().cancel(RequestId{id});
      CHECK(rig.ends() == std::to_string(id) + ":cancelled:" + std::to_string(k));
      rig.finish(k + 1);
      CHECK(rig.plan().empty() == (k == 9));
    }
    CHECK(rig.driver().used_blocks() == 0);
  });
}

TEST_CASE("requests that wait for remote KV are looked at first and cost no budget") {
  GoldenSetup setup = roomy_setup();
  setup.engine.max_num_batched_tokens = Tokens{100};
  on_each(setup, [](GoldenRig& rig) {
    for (std::uint32_t id = 0; id < 3; ++id) rig.arrive(request(id, 50));
    for (std::uint32_t id = 3; id < 5; ++id) rig.arrive(blocked_request(id, 50));
    CHECK(rig.plan() == "0:50 1:50");
    CHECK(rig.last().held[static_cast<std::size_t>(HeldReason::kBlocked)] == 2);
    CHECK(rig.last().held[static_cast<std::size_t>(HeldReason::kTokenBudget)] == 1);
    rig.finish(1);
    rig.driver().ready(RequestId{4}, kRemote);
    // What was set aside stands before those that were never looked at.
    CHECK(rig.step() == "0:1 1:1 4:50 2:48");
  });
}

TEST_CASE("a blocked head lets the next ready request in and keeps its place") {
  GoldenSetup setup = roomy_setup();
  setup.engine.max_num_seqs = 1;
  on_each(setup, [](GoldenRig& rig) {
    rig.arrive(blocked_request(0, 10));
    rig.arrive(blocked_request(1, 10));
    rig.arrive(request(2, 10, 1));
    rig.arrive(request(3, 10, 1));
    CHECK(rig.step() == "2:10");
    rig.driver().ready(RequestId{1}, kRemote);
    rig.driver().ready(RequestId{0}, kRemote);
    CHECK(rig.step({RequestId{0}}) == "0:10");
    CHECK(rig.step({RequestId{1}}) == "1:10");
    CHECK(rig.step() == "3:10");
  });
}

TEST_CASE("requests blocked for different reasons keep their order when all are ready") {
  on_each(roomy_setup(), [](GoldenRig& rig) {
    const WaitsFor reasons[] = {WaitsFor::kGrammar, kRemote, WaitsFor::kStreamInput};
    for (std::uint32_t id = 0; id < 6; ++id) rig.arrive(blocked_request(id, 10, reasons[id % 3]));
    CHECK(rig.plan().empty());
    for (std::uint32_t id = 6; id > 0; --id) rig.driver().ready(RequestId{id - 1}, reasons[(id - 1) % 3]);
    CHECK(rig.step() == "0:10 1:10 2:10 3:10 4:10 5:10");
  });
}

}  // namespace servetwin::test_batch_composition
