// timeline.json: steps, requests, counters and preemptions for Perfetto and chrome://tracing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/metrics/output_file.h"
#include "engine/serving/observer.h"

namespace servetwin {

// Streams trace events as they happen. Only what begins inside [from, to) is written, and nothing new after
// the file has reached max_bytes; both cuts are stated in the file's otherData. Slices of one replica never
// overlap: a step planned while another runs begins where that one ends.
class TimelineWriter final : public Observer {
 public:
  struct Options {
    Time from = kTimeZero;
    Time to = kTimeNever;
    std::int64_t max_bytes = std::int64_t{64} << 20;
    std::size_t num_replicas = 1;
  };

  TimelineWriter(std::string path, const Options& options);

  void on_arrived(const RequestSpec& request, Time now) override;
  void on_first_token(const RequestSpec& request, Time now) override;
  void on_plan(const StepPlan& plan) override;
  void on_step_done(ReplicaId replica, StepId step, const StepShape& shape, Time planned, Time end) override;
  void on_end(const RequestRecord& record) override;

  // Closes the JSON and the file.
  void commit();

 private:
  enum class Track { kReplicas = 1, kRequests = 2 };

  bool in_window(Time t) const { return t >= options_.from && t < options_.to; }
  bool has_room(Time at);
  // Whether the request's begin was written, so that what follows on its track has a place.
  bool has_begun(RequestId request, Time arrival) const {
    return in_window(arrival) && raw(request) < first_dropped_;
  }
  void begin_event(char phase, Track track, std::int64_t thread, Time at);
  void member(std::string_view name, std::int64_t value);
  void request_event(char phase, RequestId request, Time at);
  void flow(char phase, RequestId request, ReplicaId replica, Time at);
  void counter(ReplicaId replica, std::string_view name, std::int64_t value, Time at);
  void name_track(Track track, std::int64_t thread, std::string_view kind, std::string_view name);

  Options options_;
  OutputFile file_;
  std::vector<Time> last_end_;  // of each replica's slices
  std::int64_t num_events_ = 0;
  std::int64_t num_dropped_ = 0;  // for lack of room
  Time cut_ = kTimeNever;         // of the first of those
  std::uint32_t first_dropped_ = raw(kNoRequest);
};

}  // namespace servetwin
