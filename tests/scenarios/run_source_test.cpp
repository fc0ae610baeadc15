// If these fail, traffic that never ends is simulated for ever or until the memory is full.
#include "scenarios/run_source.h"

#include <memory>
#include <string>

#include "tests/support/catch.h"

namespace servetwin::run_source_test {
namespace {

// A request at the time of the last end, whenever one is asked for.
class EndlessSource final : public RequestSource {
 public:
  explicit EndlessSource(bool reacts) : reacts_(reacts) {}
  Time next_arrival() override { return now_; }
  void take(WorkloadItem& item) override { item.spec.arrival = now_; }
  void on_end(const RequestRecord& record) override { now_ = record.end; }
  bool reacts_to_ends() const override { return reacts_; }
  std::string describe() const override { return "endless"; }
  SourceFacts facts() const override { return {}; }

 private:
  bool reacts_;
  Time now_ = kTimeZero;
};

RunSource endless(bool reacts) {
  return {std::make_unique<EndlessSource>(reacts), RecorderOptions{}, kTimeNever, false, {"s.yaml", 8, 3}};
}

// How many times it works, and the problem that ends it.
template <class Action>
std::string refusal_of(std::int64_t& count, std::int64_t most, const Action& action) {
  try {
    for (count = 0; count < most; ++count) action();
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("a queue that grows without bound is refused where the workload stands") {
  RunSource source = endless(false);
  WorkloadItem item;
  std::int64_t count = 0;
  const std::string refusal = refusal_of(count, RunSource::kMaxInSystem + 10, [&] { source.take(item); });
  CHECK(count == RunSource::kMaxInSystem);
  CHECK(refusal.find("s.yaml:8:3: spec.workload: ") == 0);
  CHECK(refusal.find("overloaded without bound (lower the rate") != std::string::npos);
}

TEST_CASE("as many requests one after the other are no queue") {
  RunSource source = endless(false);
  WorkloadItem item;
  RequestRecord record;
  record.end = Time{Duration{5}};
  std::int64_t count = 0;
  CHECK(refusal_of(count, RunSource::kMaxInSystem + 10, [&] {
          source.take(item);
          source.on_end(record);
        }).empty());
}

TEST_CASE("a loop in which time stands still is refused, and only a loop") {
  RequestRecord record;
  record.arrival = record.end = Time{Duration{5}};
  std::int64_t count = 0;
  WorkloadItem item;
  // Never in the middle of an event, which is when ends are told.
  const auto answer = [&](RunSource& source) {
    source.take(item);
    CHECK_NOTHROW(source.on_end(record));
  };
  RunSource loop = endless(true);
  CHECK(refusal_of(count, RunSource::kMaxAtOnce + 10, [&] { answer(loop); }).find("[WKL005]") !=
        std::string::npos);
  CHECK(count == RunSource::kMaxAtOnce + 1);
  RunSource open = endless(false);
  CHECK(refusal_of(count, RunSource::kMaxAtOnce + 10, [&] { answer(open); }).empty());
  RunSource moving = endless(true);
  CHECK(refusal_of(count, RunSource::kMaxAtOnce + 10, [&] {
          record.arrival = record.end = record.end + Duration{1};
          answer(moving);
        }).empty());
}

}  // namespace
}  // namespace servetwin::run_source_test
