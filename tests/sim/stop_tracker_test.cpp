// If this fails, the simulator stops requests at another token than the one their true length says.
#include <map>
#include <rapidcheck.h>

#include "tests/sim/sim_support.h"
#include "tests/support/catch.h"

namespace servetwin::stop_tracker_test {
namespace {

using namespace test;

std::vector<std::uint32_t> names(const std::vector<RequestId>& requests) {
  std::vector<std::uint32_t> result;
  for (const RequestId request : requests) result.push_back(raw(request));
  std::sort(result.begin(), result.end());
  return result;
}

// Beside a tracker that sees plans as deltas, counts each request's sampled rows one by one.
class CountRows final : public Observer {
 public:
  explicit CountRows(const std::vector<WorkloadItem>& items) : items_(items) {}
  std::int64_t stops = 0;
  std::int64_t preemptions = 0;
  std::int64_t holds = 0;

  void on_plan(const StepPlan& plan) override {
    for (const PlanEntry& entry : plan.entries) {
      if (entry.action == PlanAction::kAdmit && !entry.resumed)
        tracker_.add(entry.request, output(entry.request));
      preemptions += entry.action == PlanAction::kPreempt ? 1 : 0;
      holds += entry.action == PlanAction::kHold ? 1 : 0;
    }
    if (plan.shape.tokens == 0) {
      tracker_.on_empty_plan(plan);
      return;
    }
    RC_ASSERT(plan.all_rows);
    std::vector<RequestId> expected;
    for (const StepRow& row : plan.rows) {
      if (row.sampled && ++produced_[row.request] == output(row.request)) expected.push_back(row.request);
    }
    std::vector<RequestId> found;
    tracker_.on_plan(plan, found);
    RC_ASSERT(names(found) == names(expected));
    stops += static_cast<std::int64_t>(found.size());
  }
  void on_end(const RequestRecord& record) override { tracker_.remove(record.id); }

 private:
  std::int64_t output(RequestId request) const { return items_[raw(request)].truth.output.value; }

  const std::vector<WorkloadItem>& items_;
  StopTracker tracker_;
  std::map<RequestId, std::int64_t> produced_;
};

TEST_CASE("deltas of plans tell the last token of a request as counting its rows does") {
  std::int64_t stops = 0;
  std::int64_t preemptions = 0;
  std::int64_t holds = 0;
  const bool held = rc::check([&] {
    EngineConfig config;
    config.plain_loop = true;
    config.block_size = Tokens{*rc::gen::element(1, 4, 16)};
    config.num_blocks = Blocks{2 + 160 / config.block_size.value};
    config.max_model_len = Tokens{150};
    config.max_num_batched_tokens = Tokens{*rc::gen::inRange(6, 100)};
    config.max_num_seqs = *rc::gen::inRange(1, 10);
    const int depth = *rc::gen::inRange(1, 4);
    config.in_flight = {depth, depth > 1 && *rc::gen::arbitrary<bool>()};
    std::vector<WorkloadItem> items(static_cast<std::size_t>(*rc::gen::inRange(1, 25)));
    Time now = kTimeZero;
    for (std::uint32_t id = 0; id < items.size(); ++id) {
      now += std::chrono::milliseconds(*rc::gen::inRange(0, 60));
      items[id].spec.id = RequestId{id};
      items[id].spec.arrival = now;
      items[id].spec.prompt = Tokens{*rc::gen::inRange(1, 60)};
      items[id].spec.max_tokens = Tokens{60};
      items[id].spec.priority = *rc::gen::inRange(0, 3);
      items[id].truth.output = Tokens{*rc::gen::inRange(1, 80)};
      if (*rc::gen::inRange(0, 6) == 0)
        items[id].truth.cancel_after = std::chrono::milliseconds(*rc::gen::inRange(0, 900));
    }
    ListSource source(items);
    TestCost cost;
    SimOptions options;
    options.shortcut = false;
    SimBackend backend(source, {&cost}, options);
    CountRows rows(items);
    RuleNames names;
    if (*rc::gen::arbitrary<bool>()) names = {"priority", "running_first", "optimistic", "least_important"};
    if (*rc::gen::arbitrary<bool>()) {
      config.host_blocks = Blocks{*rc::gen::inRange(1, 200)};
      names.pressure = "swap";
    }
    Cluster cluster({{config}, 0}, [&] { return make_rules(names); },
                    Registry<Router>::instance().make("round_robin", ConfigNode{}), {&rows});
    backend.attach(cluster);
    serve(cluster, backend);
    stops += rows.stops;
    preemptions += rows.preemptions;
    holds += rows.holds;
  });
  CHECK(held);
  CHECK(stops > 100);
  CHECK(preemptions > 0);
  CHECK(holds > 100);
}

}  // namespace
}  // namespace servetwin::stop_tracker_test
