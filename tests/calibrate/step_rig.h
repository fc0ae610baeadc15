// A machine whose steps take what a formula says, with a clock that only its runs move.
#pragma once

#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "calibrate/measure/campaign.h"
#include "engine/base/error.h"
#include "engine/base/rng.h"

namespace servetwin {

inline StepSpace small_space() { return {256, 16, 512, 256, 16}; }

inline ProfileSubject test_subject() {
  ProfileSubject subject;
  subject.device = "cpu";
  subject.cpu = "a \"quoted\", processor";
  subject.model = "model";
  subject.shape = "layers 2";
  subject.dtype = "f16";
  subject.kv_dtype = "f32";
  subject.kernels = "plain";
  subject.build = "none";
  subject.date = "2026-11-30";
  return subject;
}

// A rising price of tokens in three parts, keys, pairs, rows and outputs.
inline double formula_ns(const StepShape& shape) {
  const auto n = [](std::int64_t value) { return static_cast<double>(value); };
  const double tokens = 20e3 * n(std::min<std::int64_t>(shape.tokens, 8)) +
                        5e3 * n(std::max<std::int64_t>(0, shape.tokens - 8));
  return 500e3 + tokens + 120 * n(shape.decode_context) + 40 * n(prefill_pairs(shape)) +
         15e3 * n(shape.sampled_rows) + (shape.prefill_sequences > 0 ? 60e3 : 0);
}

// The first problem that `act` is refused for; fails the test where it is not.
template <class Act>
Problem problem_from(const Act& act) {
  try {
    act();
  } catch (const ConfigError& error) {
    return error.problems().front();
  }
  return Problem{"none", {}, "", "was accepted", ""};
}

// The n-th draw, from -1 to 1.
inline double noise(std::uint64_t n) { return 2 * draw_unit({9, Stream::kTest, n}, 0) - 1; }

class FormulaTimer final : public StepTimer {
 public:
  using Change = std::function<TimedRun(double ns, std::int64_t run)>;

  // `change` makes what a run takes of what it should.
  explicit FormulaTimer(Change change = {}) : change_(std::move(change)) {}

  void prepare(const PlannedStep& step) override { ns_ = formula_ns(shape_of(step)); }
  TimedRun run() override {
    const TimedRun run = change_ ? change_(ns_, runs) : TimedRun{duration_from_ns(ns_), false};
    ++runs;
    now_ += run.time;
    return run;
  }
  Duration now() override { return now_; }

  std::int64_t runs = 0;

 private:
  Change change_;
  double ns_ = 0;
  Duration now_{};
};

// A file in the working directory that is not there before or after.
class RowsPath {
 public:
  explicit RowsPath(std::string name) : path(std::move(name)) { std::remove(path.c_str()); }
  ~RowsPath() { std::remove(path.c_str()); }
  RowsPath(const RowsPath&) = delete;
  RowsPath& operator=(const RowsPath&) = delete;

  std::string path;
};

}  // namespace servetwin
