// Remembers the requests of a run as a comparison needs them.
#pragma once

#include <map>

#include "engine/serving/observer.h"
#include "sim/planner/request_row.h"

namespace servetwin {

class RowCollector final : public Observer {
 public:
  // `output_delay`: from a token to its client; part of TTFT and E2E.
  explicit RowCollector(Duration output_delay) : output_delay_(output_delay) {}

  void on_arrived(const RequestSpec& request, Time now) override;
  void on_end(const RequestRecord& record) override;
  // All rows in order of their keys. Nothing may be told afterwards.
  std::vector<RequestRow> take();

 private:
  Duration output_delay_;
  std::vector<RequestRow> rows_;  // by id
  std::map<SessionId, std::uint32_t> turns_;
};

// Fills in what makes up E2E, from TTFT's neighbours: front end, queue and preempted are known.
void complete_latencies(RequestRow& row);

}  // namespace servetwin
