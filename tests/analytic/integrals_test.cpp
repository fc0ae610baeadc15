// If one of these fails, time or memory is lost or counted twice somewhere: what is summed over time must
// equal what is summed over requests, blocks and steps, to the nanosecond.
#include <map>

#include "engine/metrics/recorder.h"
#include "tests/analytic/queue_world.h"
#include "tests/support/catch.h"

namespace servetwin::integrals_test {
namespace {

using namespace test;
__extension__ using Wide = __int128;

// Adds up, event by event, what the core says of itself; and, beside it, lives.
class Integrals final : public Observer, public KvListener {
 public:
  void watch(Cluster& cluster) {
    cluster_ = &cluster;
    cluster.at(ReplicaId{0}).kv().set_listener(this);
  }

  void on_event(const StampedEvent& event) override {
    const std::int64_t elapsed = to_ns(event.time - now_);
    REQUIRE(elapsed >= 0);
    now_ = event.time;
    request_time += static_cast<Wide>(in_system_) * elapsed;
    block_time += static_cast<Wide>(cluster_->at(ReplicaId{0}).kv().used().value) * elapsed;
    if (!cluster_->at(ReplicaId{0}).idle()) busy += Duration{elapsed};
  }
  void on_arrived(const RequestSpec& /*request*/, Time /*now*/) override { ++in_system_; }
  void on_end(const RequestRecord& record) override {
    --in_system_;
    sojourns += to_ns(record.end - record.arrival);
  }
  void on_step_done(
      ReplicaId /*id*/, StepId /*step*/, const StepShape& /*shape*/, Time planned, Time end) override {
    steps += end - planned;
  }

  void on_allocate(OwnerSlot owner, std::int32_t first, std::int32_t count) override {
    begin(owner, first, count);
  }
  void on_touch(OwnerSlot owner, std::int32_t first, std::int32_t count) override {
    begin(owner, first, count);
  }
  void on_free(OwnerSlot owner, std::int32_t first, std::int32_t count) override {
    for (std::int32_t i = first; i < first + count; ++i) {
      lifetimes += to_ns(now_ - since_.at({owner, i}));
      since_.erase({owner, i});
    }
  }
  bool all_free() const { return since_.empty(); }
  Time now() const { return now_; }

  Wide request_time = 0;
  Wide sojourns = 0;
  Wide block_time = 0;
  Wide lifetimes = 0;
  Duration busy{0};
  Duration steps{0};

 private:
  void begin(OwnerSlot owner, std::int32_t first, std::int32_t count) {
    for (std::int32_t i = first; i < first + count; ++i)
      REQUIRE(since_.emplace(std::pair{owner, i}, now_).second);
  }

  Cluster* cluster_ = nullptr;
  Time now_ = kTimeZero;
  std::int64_t in_system_ = 0;
  std::map<std::pair<OwnerSlot, std::int32_t>, Time> since_;
};

// Poisson arrivals with shared prefixes on a pool that is often too small.
std::vector<WorkloadItem> traffic(std::uint64_t seed, bool cancels) {
  std::vector<WorkloadItem> items(400);
  Time now = kTimeZero;
  for (std::uint32_t id = 0; id < items.size(); ++id) {
    const StreamKey key{seed, Stream::kTest, id};
    now += duration_from_ns(sample_exponential(key, 0, 120e6));
    RequestSpec& spec = items[id].spec;
    spec.id = RequestId{id};
    spec.arrival = now;
    spec.prompt = Tokens{sample_uniform_int(key, 1, 40, 300)};
    spec.max_tokens = Tokens{400};
    spec.content = {{static_cast<std::uint64_t>(id % 5), Tokens{38}}, {100 + id, spec.prompt - Tokens{38}}};
    items[id].truth.output = Tokens{sample_uniform_int(key, 2, 1, 120)};
    if (cancels && id % 7 == 0)
      items[id].truth.cancel_after = duration_from_ns(sample_exponential(key, 3, 500e6));
  }
  return items;
}

struct Sums {
  Integrals own;
  std::int64_t preemptions = 0;
  std::int64_t recorder_busy_ns = 0;
  Wide recorder_used_block_ns = 0;
  Wide recorder_in_system_ns = 0;
};

void run_traffic(std::uint64_t seed, bool cancels, Sums& sums) {
  ListSource source(traffic(seed, cancels));
  TestCost cost;
  SimOptions options;
  options.shortcut = false;
  SimBackend backend(source, {&cost}, options);
  EngineConfig config;
  config.plain_loop = true;
  config.max_model_len = Tokens{800};
  config.num_blocks = Blocks{60};
  config.max_num_batched_tokens = Tokens{256};
  Recorder recorder(RecorderOptions{});
  Cluster cluster({{config}, 0}, [] { return make_rules(RuleNames{}); },
                  Registry<Router>::instance().make("round_robin", ConfigNode{}), {&sums.own, &recorder});
  sums.own.watch(cluster);
  backend.attach(cluster);
  serve(cluster, backend);
  recorder.finish(sums.own.now(), RunState::kComplete);
  const ReplicaStats& stats = recorder.replicas()[0];
  sums.preemptions = stats.preemptions;
  sums.recorder_busy_ns = stats.busy_ns;
  sums.recorder_used_block_ns = stats.used_block_ns;
  sums.recorder_in_system_ns = recorder.in_system_ns();
}

TEST_CASE("Little's law holds to the nanosecond: requests over time are the sum of their sojourns") {
  const std::uint64_t seed = GENERATE(1U, 2U);
  const bool cancels = GENERATE(true, false);
  Sums sums;
  run_traffic(seed, cancels, sums);
  CHECK(sums.preemptions > 20);
  CHECK((sums.own.request_time > 0));
  CHECK((sums.own.request_time == sums.own.sojourns));
  CHECK((sums.own.request_time == sums.recorder_in_system_ns));
}

TEST_CASE("used blocks over time are the sum of the blocks' lifetimes, with sharing and preemption") {
  const bool cancels = GENERATE(true, false);
  Sums sums;
  run_traffic(3, cancels, sums);
  CHECK(sums.preemptions > 20);
  CHECK((sums.own.block_time > 0));
  CHECK((sums.own.block_time == sums.own.lifetimes));
  CHECK(sums.own.all_free());
  // The recorder looks at plans only: exact where blocks change hands at plans and ends of steps alone.
  if (!cancels) CHECK((sums.own.block_time == sums.recorder_used_block_ns));
}

TEST_CASE("the time a replica is busy is the sum of its steps") {
  Sums sums;
  run_traffic(4, true, sums);
  CHECK(sums.own.busy == sums.own.steps);
  CHECK(to_ns(sums.own.busy) == sums.recorder_busy_ns);
}

TEST_CASE("Little's law holds for every queue of the textbook too, with several servers") {
  Customers customers;
  Time now = kTimeZero;
  for (std::uint32_t n = 0; n < 20'000; ++n) {
    now += duration_from_ns(sample_exponential({1, Stream::kTest, 1}, n, 1e6));
    customers.arrival.push_back(now);
    customers.service.push_back(duration_from_ns(sample_exponential({1, Stream::kTest, 2}, n, 2.7e6)));
  }
  RecorderOptions options;
  options.num_replicas = 3;
  Recorder recorder(options);
  const std::vector<Visit> visits = serve_customers(customers, 3, {&recorder});
  Wide sojourns = 0;
  Time last = kTimeZero;
  std::int64_t busy = 0;
  for (std::size_t n = 0; n < visits.size(); ++n) {
    sojourns += to_ns(visits[n].end - customers.arrival[n]);
    last = std::max(last, visits[n].end);
    busy -= to_ns(customers.service[n]);
  }
  recorder.finish(last, RunState::kComplete);
  CHECK((recorder.in_system_ns() == sojourns));
  for (const ReplicaStats& replica : recorder.replicas()) busy += replica.busy_ns;
  CHECK(busy == 0);
}

}  // namespace
}  // namespace servetwin::integrals_test
