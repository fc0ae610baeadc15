// The requests of a run as its observers shall see them: grouped for statistics, and up to a last arrival.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "engine/metrics/recorder.h"
#include "engine/metrics/slo.h"
#include "engine/workload/source.h"

namespace servetwin {

class RunSource final : public RequestSource {
 public:
  // No request arrives at or after `end`. With a front end every request waits to be tokenised.
  RunSource(std::unique_ptr<RequestSource> inner, const RecorderOptions& window, Time end, bool has_front_end)
      : inner_(std::move(inner)),
        from_(window.measure_from),
        to_(window.measure_to),
        end_(end),
        waits_for_(has_front_end ? WaitsFor::kTokenised : WaitsFor::kNothing) {}

  // Told of each request when it is taken, before the core hears of it.
  void on_take(std::function<void(const RequestSpec&)> listener) { listener_ = std::move(listener); }

  Time next_arrival() override {
    const Time next = inner_->next_arrival();
    return next < end_ ? next : kTimeNever;
  }

  void take(WorkloadItem& item) override {
    inner_->take(item);
    RequestSpec& spec = item.spec;
    spec.stat_group = stat_group_for(spec.traffic_class, spec.arrival >= from_ && spec.arrival < to_);
    spec.waits_for = spec.waits_for | waits_for_;
    if (listener_) listener_(spec);
  }

  void on_end(const RequestRecord& record) override { inner_->on_end(record); }
  bool reacts_to_ends() const override { return inner_->reacts_to_ends(); }
  std::optional<std::int64_t> total() const override {
    return end_ == kTimeNever ? inner_->total() : std::nullopt;
  }
  std::string describe() const override { return inner_->describe(); }
  SourceFacts facts() const override { return inner_->facts(); }

 private:
  std::unique_ptr<RequestSource> inner_;
  Time from_;
  Time to_;
  Time end_;
  WaitsFor waits_for_;
  std::function<void(const RequestSpec&)> listener_;
};

}  // namespace servetwin
