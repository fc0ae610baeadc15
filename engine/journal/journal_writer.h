// Records a run: every event that reaches the core, every request row, and at the end the digests.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/journal/format.h"
#include "engine/journal/frame_file.h"
#include "engine/serving/observer.h"

namespace servetwin {

// An observer of the core. Whoever fills the request table also calls add_request; the row comes before its
// Arrived. Failures of the disk are IoErrors. A writer that is destroyed without close() leaves a journal
// without its footer.
class JournalWriter final : public Observer {
 public:
  JournalWriter(std::string path, const JournalHeader& header);

  void add_request(const RequestSpec& request);
  // The backend was asked for a plan at `when`: what a PlanDue's lateness counts from. Simulation may leave
  // it out.
  void plan_asked(ReplicaId replica, Time when);
  // Hands all that was recorded to the system. The live engine calls it once a second.
  void flush();
  // The last call: writes the footer. The event count is the writer's own.
  void close(JournalFooter footer);

  std::uint64_t events() const { return events_; }
  std::uint64_t bytes_written() const { return file_.bytes_written(); }

  void on_event(const StampedEvent& event) override;
  void on_plan(const StepPlan& plan) override;
  void on_step_done(ReplicaId replica, StepId step, const StepShape& shape, Time planned, Time end) override;

 private:
  struct Lane {
    Time asked = kTimeNever;
    StepId done{0};  // the last step whose StepDone event was seen
  };

  void put_pending();
  void put(const JournalEvent& event);
  void write_text();
  Lane& lane(ReplicaId replica);

  FrameWriter file_;
  std::string text_;
  std::vector<Lane> replicas_;
  JournalEvent pending_;  // a PlanDue whose step, if any, is not yet known
  bool has_pending_ = false;
  std::uint64_t events_ = 0;
  std::uint64_t frame_lines_ = 0;
  std::uint64_t frame_bytes_ = 0;
};

}  // namespace servetwin
