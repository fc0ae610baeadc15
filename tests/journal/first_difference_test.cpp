// If these fail, `diff` names the wrong step, or calls runs equal that decided differently.
#include "engine/journal/first_difference.h"

#include "tests/support/catch.h"

namespace servetwin::first_difference_test {
namespace {

// Hand-made records.
class Records final : public DecisionSource {
 public:
  explicit Records(std::vector<DecisionRecord> records) : records_(std::move(records)) {}

  bool next(DecisionRecord& out) override {
    if (used_ == records_.size()) return false;
    out = records_[used_++];
    return true;
  }

 private:
  std::vector<DecisionRecord> records_;
  std::size_t used_ = 0;
};

DecisionRecord step(std::uint16_t replica, std::uint64_t number, std::int64_t ns, const char* text) {
  return {ReplicaId{replica}, StepId{number}, time_at_ns(ns), text};
}

DecisionComparison compare(std::vector<DecisionRecord> a, std::vector<DecisionRecord> b) {
  Records first(std::move(a));
  Records second(std::move(b));
  return first_difference(first, second);
}

std::vector<DecisionRecord> drain(DecisionLog& log) {
  std::vector<DecisionRecord> records;
  DecisionRecord record;
  while (log.take(record)) records.push_back(record);
  return records;
}

PlanEntry entry_of(PlanAction action, std::uint32_t request) {
  PlanEntry entry;
  entry.action = action;
  entry.request = RequestId{request};
  entry.tokens = Tokens{32};
  entry.context = Tokens{16};
  return entry;
}

}  // namespace

TEST_CASE("a record tells the whole delta of a step in plan order") {
  DecisionLog log;
  RequestRecord ended;
  ended.id = RequestId{3};
  ended.replica = ReplicaId{1};
  ended.end_state = EndState::kStop;
  ended.outputs = Tokens{120};
  log.on_end(ended);
  StepPlan plan;
  plan.replica = ReplicaId{1};
  plan.step = StepId{17};
  plan.time = time_at_ns(5);
  plan.shape.tokens = 100;
  plan.shape.decode_sequences = 12;
  plan.shape.decode_context = 3456;
  PlanEntry admit = entry_of(PlanAction::kAdmit, 5);
  admit.hit = Tokens{16};
  admit.sampled = true;
  PlanEntry readmit = entry_of(PlanAction::kAdmit, 6);
  readmit.resumed = true;
  plan.entries = {entry_of(PlanAction::kPreempt, 9), entry_of(PlanAction::kChunk, 8),
                  entry_of(PlanAction::kHold, 7), admit, readmit};
  log.on_plan(plan);
  const std::vector<DecisionRecord> records = drain(log);
  REQUIRE(records.size() == 1);
  CHECK(records[0].replica == ReplicaId{1});
  CHECK(records[0].step == StepId{17});
  CHECK(records[0].time == time_at_ns(5));
  CHECK(records[0].text ==
        "12 decode over 3456 tokens of context; request 3 ended: stop after 120 tokens; preempt request 9, "
        "32 tokens lost; "
        "chunk of request 8: 32 tokens after 16; hold request 7; "
        "admit request 5: 32 tokens after 16, 16 from the prefix cache, sampled; "
        "readmit request 6: 32 tokens after 16, 0 from the prefix cache");
}

TEST_CASE("preemptions of a plan without a step are told with the next step, other empty plans not at all") {
  DecisionLog log;
  StepPlan plan;
  plan.step = StepId{1};
  log.on_plan(plan);
  plan.entries = {entry_of(PlanAction::kPreempt, 9)};
  log.on_plan(plan);
  CHECK(drain(log).empty());
  plan.entries.clear();
  plan.step = StepId{2};
  plan.shape.tokens = 1;
  log.on_plan(plan);
  CHECK(drain(log).at(0).text == "0 decode over 0 tokens of context; preempt request 9, 32 tokens lost");
}

TEST_CASE(
    "routing and ends outside a replica are decisions of the cluster, ends after the last step are kept") {
  DecisionLog log;
  RequestSpec request;
  request.id = RequestId{4};
  log.on_routed(request, ReplicaId{2}, time_at_ns(1));
  RequestRecord ended;
  ended.id = RequestId{5};
  ended.end_state = EndState::kRejected;
  ended.end_reason = EndReason::kPromptTooLong;
  ended.end = time_at_ns(2);
  log.on_end(ended);
  ended.replica = ReplicaId{0};
  log.on_end(ended);
  log.finish();
  const std::vector<DecisionRecord> records = drain(log);
  REQUIRE(records.size() == 3);
  CHECK(records[0].replica == kNoReplica);
  CHECK(records[0].text == "request 4 to replica 2");
  CHECK(records[1].step == StepId{2});
  CHECK(records[1].text == "request 5 ended: rejected (prompt_too_long) after 0 tokens");
  CHECK(records[2].replica == ReplicaId{0});
  CHECK(records[2].step == StepId{1});
  CHECK(records[2].text == "no step; request 5 ended: rejected (prompt_too_long) after 0 tokens");
}

TEST_CASE("equal runs have no difference, whatever their times and the order between replicas") {
  const DecisionComparison same = compare({step(0, 1, 0, "x"), step(1, 1, 0, "y"), step(0, 2, 5, "z")},
                                          {step(0, 1, 7, "x"), step(0, 2, 8, "z"), step(1, 1, 9, "y")});
  CHECK_FALSE(same.first.has_value());
  CHECK(same.steps == 3);
  CHECK(same.equal_steps == 3);
  CHECK(to_text(same, "A", "B") == "All 3 steps are equal.\n");
}

TEST_CASE("a differing entry is shown from the clause where the sides part") {
  const DecisionComparison found = compare(
      {step(0, 1, 0, "p"), step(0, 2, 1'500'000'000, "12 decode; hold request 7; chunk"), step(0, 3, 2, "q")},
      {step(0, 1, 0, "p"), step(0, 2, 1'600'000'000, "12 decode; hold request 8"), step(0, 3, 2, "q")});
  REQUIRE(found.first.has_value());
  CHECK(found.first->a->step == StepId{2});
  CHECK(found.equal_share() == 2.0 / 3.0);
  CHECK(to_text(found, "A", "B") ==
        "The first difference is step 2 of replica 0:\n"
        "  A (at 1.500000000 s): ... hold request 7; chunk\n"
        "  B (at 1.600000000 s): ... hold request 8\n"
        "2 of 3 steps are equal (66.67 %).\n");
}

TEST_CASE("a run that is a beginning of the other differs where it ends") {
  const DecisionComparison found =
      compare({step(0, 1, 0, "p")}, {step(0, 1, 0, "p"), step(0, 2, 1, "q"), step(0, 3, 2, "r")});
  REQUIRE(found.first.has_value());
  CHECK_FALSE(found.first->a.has_value());
  CHECK(found.first->b->step == StepId{2});
  CHECK(found.steps == 3);
  CHECK(found.equal_steps == 1);
  CHECK(to_text(found, "A", "B").find("  A: has ended before\n  B (at 0.000000001 s): q\n") !=
        std::string::npos);
}

TEST_CASE("a clause more on one side is a difference") {
  const DecisionComparison found = compare({step(0, 1, 0, "p; q")}, {step(0, 1, 0, "p")});
  CHECK(to_text(found, "A", "B")
            .find("A (at 0.000000000 s): ... q\n  B (at 0.000000000 s): ... nothing more\n") !=
        std::string::npos);
}

TEST_CASE("of several differing replicas the earliest is named, routing before its consequences") {
  const DecisionComparison replicas =
      compare({step(0, 1, 50, "x"), step(1, 1, 30, "y")}, {step(0, 1, 50, "-"), step(1, 1, 40, "-")});
  CHECK(replicas.first->a->replica == ReplicaId{1});
  const DecisionRecord routed{kNoReplica, StepId{1}, time_at_ns(30), "request 4 to replica 2"};
  const DecisionRecord elsewhere{kNoReplica, StepId{1}, time_at_ns(30), "request 4 to replica 0"};
  const DecisionComparison routing = compare({step(1, 1, 30, "y"), routed}, {step(1, 1, 30, "-"), elsewhere});
  CHECK(routing.first->a->replica == kNoReplica);
  CHECK(routing.steps == 1);
  CHECK(to_text(routing, "A", "B").find("decision 1 of the cluster") != std::string::npos);
}

}  // namespace servetwin::first_difference_test
