// The requests of a run as its observers shall see them: grouped for statistics, and up to a last arrival.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "engine/base/error.h"
#include "engine/metrics/recorder.h"
#include "engine/metrics/slo.h"
#include "engine/workload/source.h"

namespace servetwin {

// Refuses a run that would not end: take() and on_end() throw ConfigError.
class RunSource final : public RequestSource {
 public:
  // Requests in the system; more are a queue that grows without bound.
  static constexpr std::int64_t kMaxInSystem = 5'000'000;
  // Answers at one instant, each followed at once by the next request.
  static constexpr std::int64_t kMaxAtOnce = 100'000;

  // No request arrives at or after `end`. With a front end every request waits to be tokenised. `workload` is
  // where the scenario describes it.
  RunSource(std::unique_ptr<RequestSource> inner,
            const RecorderOptions& window,
            Time end,
            bool has_front_end,
            SourcePlace workload)
      : inner_(std::move(inner)),
        from_(window.measure_from),
        to_(window.measure_to),
        end_(end),
        waits_for_(has_front_end ? WaitsFor::kTokenised : WaitsFor::kNothing),
        workload_(std::move(workload)) {}

  // Every request brings its true output length for a predictor that is an oracle.
  void tell_outputs() { tells_outputs_ = true; }
  // Told of each request when it is taken, before the core hears of it.
  void on_take(std::function<void(const RequestSpec&)> listener) { listener_ = std::move(listener); }

  Time next_arrival() override {
    const Time next = inner_->next_arrival();
    return next < end_ ? next : kTimeNever;
  }

  void take(WorkloadItem& item) override;
  void on_end(const RequestRecord& record) override;
  bool reacts_to_ends() const override { return inner_->reacts_to_ends(); }
  std::optional<std::int64_t> total() const override {
    return end_ == kTimeNever ? inner_->total() : std::nullopt;
  }
  std::string describe() const override { return inner_->describe(); }
  SourceFacts facts() const override {
    SourceFacts facts = inner_->facts();
    facts.uses_oracle = facts.uses_oracle || tells_outputs_;
    return facts;
  }

 private:
  [[noreturn]] void refuse(const char* code, std::string message, std::string remedy) const;

  std::unique_ptr<RequestSource> inner_;
  Time from_;
  Time to_;
  Time end_;
  WaitsFor waits_for_;
  bool tells_outputs_ = false;
  SourcePlace workload_;
  std::function<void(const RequestSpec&)> listener_;
  std::int64_t in_system_ = 0;
  std::int64_t at_once_ = 0;  // answers at `at_once_since_` that took no time
  Time at_once_since_ = kTimeZero;
};

}  // namespace servetwin
