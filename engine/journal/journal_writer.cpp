// Frames are closed by count, never by a clock, so the same run writes the same bytes.
#include "engine/journal/journal_writer.h"

#include <utility>

#include "engine/base/check.h"
#include "engine/journal/line_codec.h"

namespace servetwin {
namespace {

constexpr std::uint64_t kFrameLines = 8192;
constexpr std::uint64_t kFrameBytes = std::uint64_t{1} << 20;

}  // namespace

JournalWriter::JournalWriter(std::string path, const JournalHeader& header)
    : file_(std::move(path)), replicas_(header.replicas) {
  append_line(text_, header);
  write_text();
  flush();
}

JournalWriter::Lane& JournalWriter::lane(ReplicaId replica) {
  CHECK_INVARIANT(raw(replica) < replicas_.size(), raw(replica), replicas_.size());
  return replicas_[raw(replica)];
}

void JournalWriter::add_request(const RequestSpec& request) {
  put_pending();
  append_line(text_, request);
  write_text();
}

void JournalWriter::plan_asked(ReplicaId replica, Time when) { lane(replica).asked = when; }

void JournalWriter::on_event(const StampedEvent& event) {
  put_pending();
  if (const auto* due = std::get_if<PlanDue>(&event.event)) {
    const Time asked = std::exchange(lane(due->replica).asked, kTimeNever);
    pending_ = {event, StepId{0}, asked < event.time ? event.time - asked : Duration::zero()};
    has_pending_ = true;
    return;
  }
  StampedEvent one = event;
  if (auto* done = std::get_if<StepDone>(&one.event)) {
    lane(done->replica).done = done->step;
    done->ran = 1;
  }
  put({one, StepId{0}, Duration::zero()});
}

void JournalWriter::on_plan(const StepPlan& plan) {
  if (plan.shape.tokens == 0) return;  // nothing to run
  const auto* due = has_pending_ ? std::get_if<PlanDue>(&pending_.stamped.event) : nullptr;
  if (due == nullptr || due->replica != plan.replica) {
    put_pending();
    pending_ = {{plan.time, PlanDue{plan.replica}}, StepId{0}, Duration::zero()};
    has_pending_ = true;
  }
  pending_.started = plan.step;
  put_pending();
}

void JournalWriter::on_step_done(
    ReplicaId replica, StepId step, const StepShape& /*shape*/, Time /*planned*/, Time end) {
  if (lane(replica).done == step) return;
  put_pending();
  lane(replica).done = step;
  put({{end, StepDone{replica, step, 1}}, StepId{0}, Duration::zero()});
}

void JournalWriter::flush() {
  put_pending();
  file_.end_frame();
  frame_lines_ = 0;
  frame_bytes_ = 0;
}

void JournalWriter::close(JournalFooter footer) {
  put_pending();
  footer.events = events_;
  append_line(text_, footer);
  write_text();
  file_.close();
}

void JournalWriter::put_pending() {
  if (!has_pending_) return;
  has_pending_ = false;
  put(pending_);
}

void JournalWriter::put(const JournalEvent& event) {
  ++events_;
  append_line(text_, event);
  write_text();
}

void JournalWriter::write_text() {
  file_.write(text_);
  ++frame_lines_;
  frame_bytes_ += text_.size();
  text_.clear();
  if (frame_lines_ >= kFrameLines || frame_bytes_ >= kFrameBytes) flush();
}

}  // namespace servetwin
