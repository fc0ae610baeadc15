// If this fails, reports count, time or judge requests wrongly.
#include "engine/metrics/recorder.h"

#include "engine/metrics/answer.h"
#include "engine/metrics/report.h"
#include "tests/metrics/hand_run.h"
#include "tests/support/catch.h"
#include "tests/support/check_throws.h"

namespace servetwin::recorder_test {
namespace {

RecorderOptions with_slo(const Slo& slo) {
  RecorderOptions options;
  options.classes = {{"chat", slo}};
  return options;
}

Report small_report(const RecorderOptions& options = {}) {
  Recorder recorder(options);
  play_small_run(recorder);
  recorder.finish(ms_time(310), RunState::kComplete);
  return make_report(recorder);
}

TEST_CASE("latencies run from the arrival, over completed requests") {
  const ClassReport m = small_report().measured;
  CHECK(m.ttft.count == 2);
  CHECK(m.ttft.min == 100e6);
  CHECK(m.ttft.max == 240e6);
  CHECK(m.e2e.max == 300e6);
  CHECK(m.queue.max == 200e6);
  CHECK(m.itl.count == 4);
  CHECK(m.itl.max == 80e6);
  CHECK(m.itl.median() == 40e6);
}

TEST_CASE("a request of one token has no TPOT") {
  const ClassReport m = small_report().measured;
  CHECK(m.tpot.count == 1);
  CHECK(m.tpot.mean == 50e6);
}

TEST_CASE("outcomes add up and say why") {
  const Report report = small_report();
  CHECK(report.all.injected == 3);
  CHECK(report.all.completed == 2);
  CHECK(report.all.ended_by_length == 2);
  CHECK(report.all.rejected == 1);
  CHECK(report.all.in_progress == 0);
  REQUIRE(report.all.reasons.size() == 1);
  CHECK(report.all.reasons[0].first == "prompt_too_long");
}

TEST_CASE("the number in the system integrates exactly to the sojourn times, replicas in any order") {
  Recorder recorder(RecorderOptions{});
  const RequestSpec a = spec_of(0, 0);
  const RequestSpec b = spec_of(1, 10);
  arrive(recorder, a);
  arrive(recorder, b);
  // The later end is told first, as a replica that ran ahead does.
  recorder.on_end(finished(b, 50, 90, 3));
  recorder.on_end(finished(a, 20, 70, 3));
  recorder.finish(ms_time(90), RunState::kComplete);
  CHECK(recorder.in_system_ns() == static_cast<Int128>(150'000'000));
  CHECK(recorder.in_system_ns() == recorder.sojourn_ns());
}

TEST_CASE("a run that ends with a request that never ended is no complete run") {
  make_checks_throw();
  Recorder recorder(RecorderOptions{});
  arrive(recorder, spec_of(0, 0));
  CHECK_THROWS_AS(recorder.finish(ms_time(5), RunState::kComplete), BrokenInvariant);
  recorder.finish(ms_time(5), RunState::kInterrupted);
  CHECK(make_report(recorder).all.in_progress == 1);
}

TEST_CASE("an end at another time than the arrival allows breaks Little's law and is caught") {
  make_checks_throw();
  Recorder recorder(RecorderOptions{});
  const RequestSpec a = spec_of(0, 10);
  arrive(recorder, a);
  RequestRecord record = finished(a, 20, 70, 3);
  record.arrival = ms_time(0);
  recorder.on_end(record);
  CHECK_THROWS_AS(recorder.finish(ms_time(70), RunState::kComplete), BrokenInvariant);
}

TEST_CASE("KV use, busy time and queues are weighted with time") {
  const UsageReport usage = small_report().usage;
  // 100 ms with 10 of 100 blocks, 160 ms with 12, 40 ms with 20, 10 ms empty.
  CHECK(*usage.kv_mean == Approx((100 * 10 + 160 * 12 + 40 * 20) / 310.0 / 100));
  CHECK(usage.kv_peak == 0.2);
  CHECK(usage.busy_share == Approx(300.0 / 310));
  CHECK(usage.mean_running == Approx((100 + 160 + 40 * 2) / 310.0));
  CHECK(usage.mean_waiting == Approx(160 / 310.0));
  CHECK(usage.steps == 5);
  CHECK(usage.tokens == 154);
  CHECK(usage.prefill_tokens == 150);
}

TEST_CASE("steps in flight together are busy once") {
  Recorder recorder(RecorderOptions{});
  recorder.on_step_done(ReplicaId{0}, StepId{1}, shape_of(1, 0), ms_time(0), ms_time(10));
  recorder.on_step_done(ReplicaId{0}, StepId{2}, shape_of(1, 0), ms_time(2), ms_time(20));
  CHECK(recorder.replicas()[0].busy_ns == 20'000'000);
}

TEST_CASE("padding is what the captured size adds, and only with a graph") {
  Recorder recorder(RecorderOptions{});
  StepShape padded = shape_of(5, 0);
  padded.graph_size = 8;
  recorder.on_step_done(ReplicaId{0}, StepId{1}, padded, ms_time(0), ms_time(10));
  recorder.on_step_done(ReplicaId{0}, StepId{2}, shape_of(5, 0), ms_time(10), ms_time(20));
  CHECK(recorder.replicas()[0].padding_tokens == 3);
  CHECK(recorder.replicas()[0].graph_steps == 1);
}

TEST_CASE("the padding of a static batch is padding without a graph too") {
  Recorder recorder(RecorderOptions{});
  StepShape padded = shape_of(5, 0);
  padded.padding_tokens = 2;
  recorder.on_step_done(ReplicaId{0}, StepId{1}, padded, ms_time(0), ms_time(10));
  CHECK(recorder.replicas()[0].padding_tokens == 2);
}

TEST_CASE("held requests are attributed, and nothing is held once everybody has left") {
  Recorder recorder(RecorderOptions{});
  play_small_run(recorder);
  recorder.finish(ms_time(60'000), RunState::kComplete);
  const Report report = make_report(recorder);
  REQUIRE(report.limits.size() == 1);
  CHECK(std::string(report.limits[0].name) == "KV memory");
  CHECK(report.limits[0].request_seconds == Approx(0.16));

  Recorder left(RecorderOptions{});
  const RequestSpec a = spec_of(0, 0);
  arrive(left, a);
  StepPlan blocked = plan_at(0, 0, 1, 0);
  blocked.held[static_cast<std::size_t>(HeldReason::kBlocked)] = 1;
  left.on_plan(blocked);
  RequestRecord gone = rejected(a);
  gone.replica = ReplicaId{0};
  gone.end_state = EndState::kTimedOut;
  gone.end = ms_time(1000);
  left.on_end(gone);
  left.finish(ms_time(3'600'000), RunState::kComplete);
  CHECK(make_report(left).limits[0].request_seconds == 1.0);
}

TEST_CASE("a limit is met by equality, and rejected requests are not good") {
  Slo exact;
  exact.ttft = ms_span(240);
  exact.e2e = ms_span(300);
  exact.tpot = ms_span(50);
  CHECK(small_report(with_slo(exact)).measured.good == 2);
  Slo tight = exact;
  tight.ttft = Duration{ms_span(240).count() - 1};
  CHECK(small_report(with_slo(tight)).measured.good == 1);
  tight = exact;
  tight.tpot = Duration{ms_span(50).count() - 1};
  CHECK(small_report(with_slo(tight)).measured.good == 1);
}

TEST_CASE("misses are counted by limit, a request that misses two in both") {
  Slo slo;
  slo.ttft = Duration{ms_span(240).count() - 1};
  slo.e2e = ms_span(1);
  slo.tpot = ms_span(50);
  slo.itl = ms_span(1000);
  const Report report = small_report(with_slo(slo));
  CHECK(report.measured.good == 0);
  CHECK(report.measured.missed(SloLimit::kTtft) == 1);
  CHECK(report.measured.missed(SloLimit::kE2e) == 2);
  CHECK(report.measured.missed(SloLimit::kTpot) == 0);
  CHECK(report.measured.missed(SloLimit::kItl) == 0);
  CHECK(misses_text(report.measured) == " (missed: TTFT by 1, E2E by 2)");
}

TEST_CASE("without an SLO nothing is good and nothing is promised") {
  const Report report = small_report();
  CHECK(report.measured.good == 0);
  CHECK(!report.measured.has_slo);
}

// A replica whose steps take as long as told; one request gets its first token after `before` of them.
struct StepClock {
  Recorder recorder;
  std::int64_t now = 100;

  explicit StepClock(const Slo& slo) : recorder(with_slo(slo)) {}
  void step(std::int64_t ms) {
    recorder.on_step_done(ReplicaId{0}, StepId{1}, shape_of(8, 0), ms_time(now), ms_time(now + ms));
    now += ms;
  }
};

Slo itl_of_50_ms() {
  Slo slo;
  slo.itl = ms_span(50);
  return slo;
}

// Whether a request is good whose gaps are those of `gaps` steps, `long_gaps` of them 60 ms, the others 40
// ms, where `before` long steps and the long one that gave the first token came earlier.
bool meets_itl_limit(int gaps, int long_gaps, int before) {
  StepClock clock(itl_of_50_ms());
  Recorder& recorder = clock.recorder;
  const RequestSpec a = spec_of(0, 0);
  arrive(recorder, a);
  for (int i = 0; i <= before; ++i) clock.step(60);
  recorder.on_first_token(a, ms_time(clock.now));
  const std::int64_t first = clock.now;
  for (int i = gaps; i > 0; --i) clock.step(i <= long_gaps ? 60 : 40);
  recorder.on_end(finished(a, first, clock.now, gaps + 1));
  recorder.on_gaps(ReplicaId{0}, 0, ms_span(60), 8, ms_time(clock.now), kNoRequest);
  return recorder.groups()[0].good == 1;
}

TEST_CASE("slo.itl lets one gap in a hundred of the request itself exceed the limit") {
  CHECK(meets_itl_limit(100, 1, 0));
  CHECK(!meets_itl_limit(100, 2, 0));
  CHECK(meets_itl_limit(200, 2, 50));
  CHECK(!meets_itl_limit(50, 1, 0));
  CHECK(meets_itl_limit(50, 0, 3));
}

TEST_CASE("a request that advances every other step is judged by its own gaps only") {
  const auto good = [](std::int64_t step_ms, std::int64_t gap_ms) {
    StepClock clock(itl_of_50_ms());
    const RequestSpec a = spec_of(0, 0);
    arrive(clock.recorder, a);
    clock.step(step_ms);
    clock.recorder.on_first_token(a, ms_time(clock.now));
    const std::int64_t first = clock.now;
    for (int i = 0; i < 10; ++i) {
      clock.step(gap_ms - step_ms);
      clock.step(step_ms);
      clock.recorder.on_gaps(ReplicaId{0}, 0, ms_span(gap_ms), 1, ms_time(clock.now), RequestId{0});
    }
    clock.recorder.on_end(finished(a, first, clock.now, 11));
    return clock.recorder.groups()[0].good == 1;
  };
  CHECK(good(20, 50));
  CHECK(!good(20, 51));
}

TEST_CASE("the long gap of a single request is not charged to the others") {
  StepClock clock(itl_of_50_ms());
  Recorder& recorder = clock.recorder;
  const RequestSpec a = spec_of(0, 0);
  const RequestSpec b = spec_of(1, 0);
  arrive(recorder, a);
  arrive(recorder, b);
  clock.step(20);
  recorder.on_first_token(a, ms_time(clock.now));
  recorder.on_first_token(b, ms_time(clock.now));
  for (int i = 0; i < 3; ++i) clock.step(40);
  recorder.on_gaps(ReplicaId{0}, 0, ms_span(120), 1, ms_time(clock.now), RequestId{1});
  recorder.on_end(finished(a, 120, clock.now, 4));
  CHECK(recorder.groups()[0].good == 1);
  recorder.on_end(finished(b, 120, clock.now, 2));
  CHECK(recorder.groups()[0].good == 1);
}

TEST_CASE("requests outside the measured window stay out of the figures but not out of the totals") {
  RecorderOptions options;
  options.measure_from = ms_time(100);
  options.measure_to = ms_time(200);
  Recorder recorder(options);
  RequestSpec warm = spec_of(0, 0);
  warm.stat_group = stat_group_for(ClassId{0}, false);
  const RequestSpec measured = spec_of(1, 150);
  arrive(recorder, warm);
  arrive(recorder, measured);
  recorder.on_end(finished(warm, 20, 180, 9));
  recorder.on_end(finished(measured, 160, 400, 3));
  recorder.finish(ms_time(400), RunState::kComplete);
  const Report report = make_report(recorder);
  CHECK(report.all.completed == 2);
  CHECK(report.measured.outcomes.completed == 1);
  CHECK(report.measured.outputs == 3);
  CHECK(report.window_completed == 1);  // the warm one ended inside, the measured one after
  CHECK(report.makespan_s == Approx(0.25));
  CHECK(*report.window_s == Approx(0.1));
}

TEST_CASE("prefix hits are a share of the prompts that were admitted") {
  const ClassReport m = small_report().measured;
  CHECK(m.cached == 16);
  CHECK(m.admitted_prompts == 150);
}

TEST_CASE("classes are kept apart and together") {
  RecorderOptions options;
  options.classes = {{"chat", {}}, {"batch", {}}};
  Recorder recorder(options);
  const RequestSpec a = spec_of(0, 0);
  RequestSpec b = spec_of(1, 0);
  b.traffic_class = ClassId{1};
  b.stat_group = 1;
  arrive(recorder, a);
  arrive(recorder, b);
  recorder.on_end(finished(a, 10, 20, 2));
  recorder.on_end(finished(b, 30, 50, 2));
  recorder.finish(ms_time(50), RunState::kComplete);
  const Report report = make_report(recorder);
  REQUIRE(report.classes.size() == 2);
  CHECK(report.classes[1].name == "batch");
  CHECK(report.classes[1].ttft.min == 30e6);
  CHECK(report.measured.ttft.count == 2);
  CHECK(report.measured.ttft.mean == 20e6);
}

}  // namespace
}  // namespace servetwin::recorder_test
