// Writes Chrome trace events; times are microseconds with three decimals, so nanoseconds survive.
#include "engine/metrics/timeline.h"

#include <algorithm>
#include <utility>

namespace servetwin {
namespace {

std::string_view slice_name(const StepShape& shape) {
  if (shape.pure_decode()) return "decode";
  return shape.decode_sequences == 0 ? "prefill" : "prefill + decode";
}

void append_microseconds(OutputFile& file, std::int64_t ns) {
  file.append_integer(ns / 1000);
  const auto rest = static_cast<int>(ns % 1000);
  const char decimals[] = {'.', static_cast<char>('0' + rest / 100), static_cast<char>('0' + rest / 10 % 10),
                           static_cast<char>('0' + rest % 10)};
  file.append(std::string_view(decimals, sizeof decimals));
}

}  // namespace

TimelineWriter::TimelineWriter(std::string path, const Options& options)
    : options_(options), file_(std::move(path)), last_end_(options.num_replicas, kTimeZero) {
  file_.append("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
  name_track(Track::kReplicas, 0, "process_name", "replicas");
  name_track(Track::kRequests, 0, "process_name", "requests");
  for (std::size_t i = 0; i < options.num_replicas; ++i) {
    name_track(Track::kReplicas, static_cast<std::int64_t>(i), "thread_name", "replica " + std::to_string(i));
  }
}

bool TimelineWriter::has_room(Time at) {
  if (num_dropped_ == 0 && file_.size() < options_.max_bytes) return true;
  if (num_dropped_++ == 0) cut_ = at;
  return false;
}

// Leaves the object open.
void TimelineWriter::begin_event(char phase, Track track, std::int64_t thread, Time at) {
  file_.append(num_events_++ == 0 ? "\n{\"ph\":\"" : ",\n{\"ph\":\"");
  file_.append(phase);
  file_.append('"');
  member("pid", static_cast<std::int64_t>(track));
  member("tid", thread);
  file_.append(",\"ts\":");
  append_microseconds(file_, to_ns(at));
}

void TimelineWriter::member(std::string_view name, std::int64_t value) {
  file_.append(",\"");
  file_.append(name);
  file_.append("\":");
  file_.append_integer(value);
}

void TimelineWriter::name_track(Track track,
                                std::int64_t thread,
                                std::string_view kind,
                                std::string_view name) {
  begin_event('M', track, thread, kTimeZero);
  file_.append(",\"name\":\"");
  file_.append(kind);
  file_.append("\",\"args\":{\"name\":\"");
  file_.append(name);
  file_.append("\"}}");
}

void TimelineWriter::request_event(char phase, RequestId request, Time at) {
  begin_event(phase, Track::kRequests, 0, at);
  member("id", raw(request));
  file_.append(R"(,"cat":"request","name":")");
  file_.append(phase == 'n' ? "first token" : "request");
  file_.append('"');
}

void TimelineWriter::on_arrived(const RequestSpec& request, Time) {
  if (!in_window(request.arrival)) return;
  if (!has_room(request.arrival)) {
    first_dropped_ = std::min(first_dropped_, raw(request.id));
    return;
  }
  request_event('b', request.id, request.arrival);
  file_.append(",\"args\":{\"request\":");
  file_.append_integer(raw(request.id));
  member("prompt_tokens", request.prompt.value);
  file_.append("}}");
}

void TimelineWriter::on_first_token(const RequestSpec& request, Time now) {
  if (!has_begun(request.id, request.arrival)) return;
  request_event('n', request.id, now);
  file_.append('}');
}

// Written even without room, since its begin was: no track stays open for lack of an end.
void TimelineWriter::on_end(const RequestRecord& record) {
  if (!has_begun(record.id, record.arrival)) return;
  request_event('e', record.id, record.end);
  file_.append(",\"args\":{\"end\":\"");
  file_.append(to_string(record.end_state));
  file_.append('"');
  member("output_tokens", record.outputs.value);
  member("preemptions", record.preemptions);
  file_.append("}}");
}

void TimelineWriter::flow(char phase, RequestId request, ReplicaId replica, Time at) {
  begin_event(phase, Track::kReplicas, raw(replica), at);
  member("id", raw(request));
  file_.append(R"(,"bp":"e","cat":"preemption","name":"preempted"})");
}

void TimelineWriter::counter(ReplicaId replica, std::string_view name, std::int64_t value, Time at) {
  begin_event('C', Track::kReplicas, raw(replica), at);
  file_.append(",\"name\":\"replica ");
  file_.append_integer(raw(replica));
  file_.append(' ');
  file_.append(name);
  file_.append("\",\"args\":{\"value\":");
  file_.append_integer(value);
  file_.append("}}");
}

void TimelineWriter::on_plan(const StepPlan& plan) {
  if (!in_window(plan.time) || !has_room(plan.time)) return;
  counter(plan.replica, "running", plan.running, plan.time);
  counter(plan.replica, "waiting", plan.waiting, plan.time);
  counter(plan.replica, "KV blocks", plan.used_blocks.value, plan.time);
  counter(plan.replica, "batch tokens", plan.shape.tokens, plan.time);
  for (const PlanEntry& entry : plan.entries) {
    if (entry.action == PlanAction::kPreempt) flow('s', entry.request, plan.replica, plan.time);
    if (entry.action == PlanAction::kAdmit && entry.resumed)
      flow('f', entry.request, plan.replica, plan.time);
  }
}

void TimelineWriter::on_step_done(
    ReplicaId replica, StepId step, const StepShape& shape, Time planned, Time end) {
  const Time begin = std::max(planned, last_end_[raw(replica)]);
  last_end_[raw(replica)] = end;
  if (!in_window(begin) || !has_room(begin)) return;
  begin_event('X', Track::kReplicas, raw(replica), begin);
  file_.append(",\"dur\":");
  append_microseconds(file_, to_ns(end - begin));
  file_.append(",\"name\":\"");
  file_.append(slice_name(shape));
  file_.append("\",\"args\":{\"step\":");
  file_.append_integer(static_cast<std::int64_t>(raw(step)));
  member("tokens", shape.tokens);
  member("sequences", shape.sequences);
  member("prefill_tokens", shape.prefill_tokens);
  member("decode_sequences", shape.decode_sequences);
  file_.append("}}");
}

void TimelineWriter::commit() {
  file_.append("\n],\"otherData\":{\"window_from_ns\":");
  file_.append_integer(to_ns(options_.from));
  member("window_to_ns", to_ns(options_.to));
  member("max_bytes", options_.max_bytes);
  member("events_left_out_for_size", num_dropped_);
  member("left_out_from_ns", num_dropped_ > 0 ? to_ns(cut_) : -1);
  file_.append("}}\n");
  file_.commit();
}

}  // namespace servetwin
