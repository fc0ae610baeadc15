// If these fail, the times that clients see become wrong rows, or rows become a wrong fit or capacity.
#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <stdexcept>

#include "calibrate/endpoint/endpoint_profile.h"
#include "calibrate/endpoint/load_runner.h"
#include "tests/calibrate/step_rig.h"
#include "tests/support/catch.h"

namespace servetwin::load_fit_test {
namespace {

Duration ms(std::int64_t value) { return std::chrono::milliseconds(value); }
double real(std::int64_t value) { return static_cast<double>(value); }

// Of a prompt of that length: tokens from `first`, one each `gap`.
TimedAnswer steady(std::int64_t prompt, Duration first, Duration gap, int tokens) {
  TimedAnswer answer;
  answer.prompt_tokens = prompt;
  answer.tokens = tokens;
  for (int i = 0; i < tokens; ++i) answer.marks.push_back({first + i * gap, i + 1.0});
  answer.ended = answer.last();
  return answer;
}

constexpr double kFront = 3e6;
constexpr double kFrontToken = 10e3;

// A server whose prices are known: 8 ms a step, 20 us a token up to 64 and 40 us beyond, 1 us a key, …
double truth_ns(const LoadRow& row) {
  const auto step = [](double tokens, double rows, double keys, double pairs) {
    return 8e6 + 20e3 * std::min(tokens, 64.0) + 40e3 * std::max(0.0, tokens - 64) + 1e3 * keys + 30 * pairs +
           50e3 * rows;
  };
  const double pairs = real(row.prompt) * (real(row.prompt) + 1) / 2 + real(row.prompt * row.cached);
  switch (row.phase) {
    case LoadPhase::kPrompt: {
      const double steps = real(row.steps);
      return kFront + kFrontToken * real(row.prompt + row.cached) +
             steps * (step(real(row.prompt) / steps, 1, 0, 0) + 2e6) + 30 * pairs;
    }
    case LoadPhase::kDecode:
      return step(real(row.requests), real(row.requests), row.context, 0);
    case LoadPhase::kMixed:
      return 2e6 + step(real(row.requests + row.prompt), real(row.requests) + 1, row.context, pairs);
    case LoadPhase::kCapacity:
      break;
  }
  return 0;
}

// The rows that a plan would give, each times 1 + spread · noise.
std::vector<LoadRow> rows_of_truth(double spread) {
  LoadSpace space;
  space.max_model_len = 2048;
  std::vector<LoadRow> rows;
  for (std::int64_t sweep = 0; sweep < 3; ++sweep) {
    std::int64_t number = 0;
    for (const LoadPoint& point : load_sweep(space)) {
      LoadRow row;
      row.sweep = sweep;
      row.point = number++;
      row.phase = point.phase;
      row.requests = point.phase == LoadPhase::kPrompt ? 0 : point.requests;
      row.prompt = point.phase == LoadPhase::kMixed ? point.joins : 0;
      if (point.phase == LoadPhase::kPrompt) row.prompt = point.prompt;
      if (row.requests > 0) row.context = real(row.requests * (point.prompt + point.output / 2));
      row.steps = point.phase == LoadPhase::kPrompt ? (row.prompt + 511) / 512 : 1;
      row.ns = truth_ns(row) * (1 + spread * noise(rows.size()));
      rows.push_back(row);
    }
  }
  return rows;
}

const LoadFit& exact_fit() {
  static const LoadFit fit = fit_load(rows_of_truth(0), "rows.csv");
  return fit;
}

const PriceInterval& interval(const LoadFit& fit, const std::string& price) {
  for (const PriceInterval& one : fit.intervals) {
    if (one.price == price) return one;
  }
  throw std::runtime_error("no interval of " + price);
}

TEST_CASE("without noise the fit is the server, and so are its predictions of loads it has not seen") {
  const LoadFit& fit = exact_fit();
  CHECK(fit.front_end_ns == Approx(kFront).epsilon(1e-3));
  CHECK(fit.front_end_token_ns == Approx(kFrontToken).epsilon(1e-2));
  CHECK(fit.terms.base_ns == Approx(8e6).epsilon(1e-3));
  CHECK(fit.terms.context_ns == Approx(1e3).epsilon(1e-3));
  CHECK(fit.terms.pair_ns == Approx(30).epsilon(1e-3));
  CHECK(fit.terms.token_knots == std::vector<std::int64_t>{64});
  REQUIRE(fit.terms.token_ns.size() == 2);
  CHECK(fit.terms.token_ns[0] == Approx(20e3).epsilon(1e-2));
  CHECK(fit.terms.token_ns[1] == Approx(40e3).epsilon(1e-3));
  CHECK(fit.terms.row_ns == Approx(50e3).epsilon(1e-2));
  CHECK(fit.terms.prefill_step_ns == Approx(2e6).epsilon(1e-2));
  LoadRow unseen;
  unseen.phase = LoadPhase::kDecode;
  unseen.requests = 23;
  unseen.context = 7777;
  CHECK(predicted_ns(fit, unseen) == Approx(truth_ns(unseen)).epsilon(1e-3));
}

TEST_CASE("with noise of 3 % the intervals hold the truth and are no wider than that noise makes them") {
  const LoadFit fit = fit_load(rows_of_truth(0.03), "rows.csv");
  const PriceInterval& base = interval(fit, "base_ns");
  CHECK((base.low < 8.05e6 && base.high > 7.95e6));
  CHECK(base.high - base.low < 1e6);
  const PriceInterval& context = interval(fit, "context_ns");
  CHECK((context.low < 1.02e3 && context.high > 0.98e3));
  CHECK(context.high - context.low < 200);
  CHECK(fit.error.decode.median < 0.03);
  for (const LoadRow& row : rows_of_truth(0))
    CHECK(predicted_ns(fit, row) == Approx(truth_ns(row)).epsilon(0.06));
}

TEST_CASE("one time in three that is five times too long changes little") {
  std::vector<LoadRow> rows = rows_of_truth(0.01);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].phase == LoadPhase::kPrompt && rows[i].sweep == rows[i].point % 3) rows[i].ns *= 5;
  }
  const LoadFit fit = fit_load(rows, "rows.csv");
  for (const LoadRow& row : rows_of_truth(0))
    CHECK(predicted_ns(fit, row) == Approx(truth_ns(row)).epsilon(0.05));
}

TEST_CASE("how much the same load differs is said by rows of one load and phase alone") {
  CHECK(load_repeat_difference(rows_of_truth(0)) == 0);
  const double difference = load_repeat_difference(rows_of_truth(0.03));
  CHECK((difference > 0.005 && difference < 0.06));
  std::vector<LoadRow> once = rows_of_truth(0.03);
  once.resize(load_sweep({2048}).size());
  CHECK(load_repeat_difference(once) == 0);
}

TEST_CASE("the domain is of single steps: a prompt in four steps has not measured one of its length") {
  const LoadFit& fit = exact_fit();
  CHECK(fit.domain.tokens == 528);  // 16 that decode, and 512 that join
  CHECK(fit.domain.sequences == 64);
}

TEST_CASE("too few rows, or none of a phase, are refused with place and remedy") {
  std::vector<LoadRow> rows = rows_of_truth(0);
  rows.resize(5);
  CHECK(problem_from([&] { fit_load(rows, "rows.csv"); }).message.find("holds 5 loads") == 0);
  rows = rows_of_truth(0);
  rows.erase(std::remove_if(rows.begin(), rows.end(),
                            [](const LoadRow& row) { return row.phase == LoadPhase::kDecode; }),
             rows.end());
  const Problem problem = problem_from([&] { fit_load(rows, "rows.csv"); });
  CHECK(problem.code == "CAL001");
  CHECK(problem.place.file == "rows.csv");
  CHECK(problem.message.find("decode") != std::string::npos);
  CHECK(problem.remedy.find("--budget") != std::string::npos);
}

TEST_CASE("a profile of an endpoint reads back as it was written, and prices steps as the fit does") {
  std::vector<LoadRow> rows = rows_of_truth(0);
  LoadRow wave;
  wave.phase = LoadPhase::kCapacity;
  wave.requests = 8;
  wave.low_tokens = 9000;
  wave.high_tokens = 9800;
  rows.push_back(wave);
  const StepProfile written = endpoint_profile(test_subject(), {"http://a:1", "1.2", "m"}, rows, "rows.csv");
  const StepProfile profile = profile_from(write_profile(written));
  REQUIRE(profile.endpoint);
  CHECK(profile.endpoint->url == "http://a:1");
  CHECK(profile.endpoint->kv_tokens == 9400.0);
  CHECK(profile.endpoint->kv_tokens_high == 9800.0);
  CHECK(profile.endpoint->intervals.size() == written.endpoint->intervals.size());
  StepShape shape;
  shape.tokens = shape.sequences = shape.decode_sequences = shape.sampled_rows = 4;
  shape.decode_context = 1000;
  CHECK(profile.step.ns(shape) + profile.step.context_ns * 1000 ==
        Approx(8e6 + 4 * 20e3 + 4 * 50e3 + 1e6).epsilon(1e-3));
}

TEST_CASE("the gap of a wave is that of the time in which all decode, at their mean context") {
  // The second begins 30 ms later; steps take 10 ms alone and 12 ms together.
  TimedAnswer first = steady(100, ms(0), ms(10), 3);
  for (int i = 0; i < 8; ++i) first.marks.push_back({ms(32 + 12 * i), 4.0 + i});
  const TimedAnswer second = steady(50, ms(32), ms(12), 8);
  const auto row = decode_row({first, second});
  REQUIRE(row);
  CHECK(row->ns == Approx(12e6));
  CHECK(row->requests == 2);
  CHECK(row->context == Approx(100 + 7 + 50 + 4));  // keys of the window's middle step
  CHECK_FALSE(decode_row({first, steady(50, ms(500), ms(12), 8)}));
}

TEST_CASE("a prompt that joins is seen in the others' gap, unless it took several steps or they had ended") {
  const auto others = [](Duration longer, Duration before) {
    TimedAnswer answer = steady(20, ms(0), ms(10), 5);
    answer.marks.push_back({answer.last() + ms(10) + before, 6});
    answer.marks.push_back({answer.last() + ms(10) + longer, 7});
    for (int i = 8; i < 12; ++i) answer.marks.push_back({answer.last() + ms(10), static_cast<double>(i)});
    return answer;
  };
  TimedAnswer joined = steady(300, ms(85), ms(10), 2);
  joined.sent = ms(52);
  joined.cached_tokens = 16;
  const auto row = mixed_row({others(ms(25), ms(0)), others(ms(25), ms(0)), joined});
  REQUIRE(row);
  CHECK(row->ns == Approx(35e6));
  CHECK((row->requests == 2 && row->prompt == 284 && row->cached == 16));
  CHECK(row->context == Approx(2 * (20 + 6)));
  TimedAnswer later = joined;
  later.marks.front().at = ms(110);
  CHECK_FALSE(mixed_row({others(ms(25), ms(25)), later}));         // two long gaps
  CHECK_FALSE(mixed_row({steady(20, ms(0), ms(10), 6), joined}));  // ended before
}

TEST_CASE("the time to the first token counts from the moment of sending, cached tokens apart") {
  TimedAnswer answer = steady(300, ms(85), ms(10), 2);
  answer.sent = ms(52);
  answer.cached_tokens = 16;
  const auto row = prompt_row(answer, 2);
  REQUIRE(row);
  CHECK(row->ns == Approx(33e6));
  CHECK((row->prompt == 284 && row->cached == 16 && row->steps == 2));
}

TEST_CASE("capacity is what is held over usage, with the scatter as interval") {
  std::vector<LoadRow> rows;
  for (int i = 0; i < 20; ++i) {
    LoadRow row;
    row.phase = LoadPhase::kCapacity;
    row.low_tokens = 1000 + 100 * i;
    row.high_tokens = row.low_tokens + 16;
    row.usage = (row.low_tokens + 8) / 10'000 * (1 + 0.02 * noise(static_cast<std::uint64_t>(i)));
    rows.push_back(row);
  }
  const auto capacity = kv_capacity(rows);
  REQUIRE(capacity);
  CHECK(capacity->tokens == Approx(10'000).epsilon(0.02));
  CHECK((capacity->low < 10'000 && *capacity->high > 10'000));
  CHECK(*capacity->high - capacity->low < 800);
}

// Eight requests of 1000 tokens of which five fit: the others begin when the first end.
std::vector<TimedAnswer> wave_of_five() {
  std::vector<TimedAnswer> answers(5, steady(1000, ms(50), ms(10), 40));
  answers.resize(8, steady(1000, ms(500), ms(10), 40));
  return answers;
}

TEST_CASE("who waits for the first to end bounds the cache from above, what was held from below") {
  const WaveBounds bounds = wave_bounds(wave_of_five(), 16);
  CHECK(bounds.running == 5);
  CHECK(bounds.held == 5 * (1000 + 39));
  CHECK(bounds.refused == 5 * 1000 + 1000 + 6 * 16);
  CHECK(wave_bounds(std::vector<TimedAnswer>(8, steady(1000, ms(50), ms(10), 40)), 16).refused == 0);
}

TEST_CASE("a request that is preempted while others go on bounds the cache, and holds nothing meanwhile") {
  std::vector<TimedAnswer> answers(5, steady(1000, ms(50), ms(10), 40));
  answers[4] = steady(1000, ms(50), ms(10), 20);
  for (int i = 20; i < 40; ++i) answers[4].marks.push_back({ms(500 + 10 * i), i + 1.0});
  const WaveBounds bounds = wave_bounds(answers, 16);
  CHECK(bounds.held == 5 * (1000 + 19));
  CHECK(bounds.refused == 5 * (1000 + 19) + 6 * 16);
}

TEST_CASE("waiting for a place among the requests says nothing of the cache") {
  const WaveBounds bounds = wave_bounds(wave_of_five(), 16);
  LoadRow wave;
  wave.phase = LoadPhase::kCapacity;
  wave.requests = bounds.running;
  wave.low_tokens = bounds.held;
  wave.high_tokens = bounds.refused;
  LoadRow decode;
  decode.phase = LoadPhase::kDecode;
  decode.requests = 5;
  auto capacity = kv_capacity({wave, decode});
  REQUIRE(capacity);
  CHECK(capacity->low == bounds.held);
  CHECK_FALSE(capacity->high);
  decode.requests = 32;  // so that it was not the number
  capacity = kv_capacity({wave, decode});
  REQUIRE(capacity->high);
  CHECK(*capacity->high == bounds.refused);
  CHECK_FALSE(kv_capacity({decode}));
}

TEST_CASE(
    "tokens held are rounded up to blocks, without those that have ended, and unknown while one waits") {
  const std::vector<TimedAnswer> answers{steady(100, ms(0), ms(10), 10), steady(17, ms(20), ms(10), 3)};
  CHECK(resident_tokens(answers, ms(25), 16) == 112.0 + 32);  // 103 and 18 tokens
  CHECK(resident_tokens(answers, ms(45), 1) == 105.0);
  CHECK_FALSE(resident_tokens(answers, ms(10), 16));
}

TEST_CASE("a sweep begins with the shortest prompt alone and stays within each limit") {
  LoadSpace space;
  space.max_model_len = 1000;
  space.max_concurrency = 16;
  space.max_resident = 3000;
  const auto points = load_sweep(space);
  CHECK(points.front() == LoadPoint{LoadPhase::kPrompt, 1, 16, points.front().output, 0});
  std::int64_t most = 0;
  std::set<std::int64_t> numbers;
  bool phases[3] = {};
  for (const LoadPoint& point : points) {
    CHECK(point.prompt + point.output <= 1000);
    CHECK(point.requests * (point.prompt + point.output) + point.joins <= 3000);
    most = std::max(most, point.requests);
    CHECK(numbers.insert(number_of(point)).second);
    phases[static_cast<std::size_t>(point.phase)] = true;
  }
  CHECK(most == 16);
  CHECK((phases[0] && phases[1] && phases[2]));
}

TEST_CASE("rows are found again after a cut, but not those of another server") {
  const RowsPath file("load_rows_test.csv");
  const LoadSubject subject{"http://a:1", "v \"1\", x", "m"};
  const std::vector<LoadRow> truth = rows_of_truth(0.01);
  {
    LoadRowsFile rows(file.path, subject, "2026-11-30");
    for (const LoadRow& row : truth) rows.append(row);
  }
  std::ofstream(file.path, std::ios::app) << "0,7,dec";
  LoadRowsFile again(file.path, subject, "2026-12-01");
  CHECK(again.rows() == truth);
  CHECK(again.has(2, truth.back().point));
  CHECK_FALSE(again.has(3, 0));
  again.append(truth.front());
  const Problem problem = problem_from([&] { LoadRowsFile(file.path, {"http://b:1", "v", "m"}, ""); });
  CHECK(problem.code == "CAL103");
  CHECK(problem.place.line == 2);
  CHECK(problem.message.find("http://a:1") != std::string::npos);
  std::ofstream(file.path, std::ios::app) << "what is this\n";
  CHECK(problem_from([&] { LoadRowsFile(file.path, subject, ""); }).message.find("cells") !=
        std::string::npos);
}

}  // namespace
}  // namespace servetwin::load_fit_test
