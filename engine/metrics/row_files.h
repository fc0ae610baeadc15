// requests.csv (a line a request, as it ends) and steps.csv (a line a step), streamed.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "engine/base/time.h"
#include "engine/metrics/output_file.h"
#include "engine/serving/observer.h"

namespace servetwin {

// Columns and their meaning: docs/metrics.md. Times are nanoseconds since the start of the run; what never
// happened is an empty field.
class RequestsCsv final : public Observer {
 public:
  // `output_delay`: from a token to its client; part of ttft_ns and e2e_ns.
  RequestsCsv(std::string path, std::vector<std::string> class_names, Duration output_delay = Duration{0});
  void on_end(const RequestRecord& record) override;
  void commit() { file_.commit(); }

 private:
  OutputFile file_;
  std::vector<std::string> class_names_;
  Duration output_delay_;
};

// A row when the step ends, with the state of the replica after its plan.
class StepsCsv final : public Observer {
 public:
  StepsCsv(std::string path, std::size_t num_replicas);
  void on_plan(const StepPlan& plan) override;
  void on_step_done(ReplicaId replica, StepId step, const StepShape& shape, Time planned, Time end) override;
  void commit() { file_.commit(); }

 private:
  struct Planned {
    StepId step{0};
    std::int64_t running = 0;
    std::int64_t waiting = 0;
    Blocks used{};
    Blocks free{};
    std::array<std::int64_t, kNumHeldReasons> held{};
  };

  OutputFile file_;
  std::vector<std::deque<Planned>> in_flight_;  // by replica
};

// The gaps between the tokens of each request, in order of id, as JSON Lines: {"id":0,"itls_ns":[...]}.
void write_gap_lists(const std::string& path, const std::map<RequestId, std::vector<Duration>>& gaps);

}  // namespace servetwin
