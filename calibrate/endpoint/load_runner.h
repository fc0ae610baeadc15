// Puts one load of the plan on a server and makes rows of what came back.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/endpoint/endpoint_server.h"
#include "calibrate/endpoint/kv_capacity.h"
#include "calibrate/endpoint/load_rows.h"

namespace servetwin {

struct PointResult {
  std::vector<LoadRow> rows;
  std::string problem;  // why there are none, or fewer; empty: all is well
  bool failed = false;  // an answer was none, or not whole
  int retry_after = 0;  // seconds, where the server said "not now"
};

// Rows of answers, for a point of the plan. `steps_of_prompt` are those in which a prompt alone was computed.
std::optional<LoadRow> prompt_row(const TimedAnswer& answer, std::int64_t steps_of_prompt);
// Of the time in which all of them decode; empty where that is shorter than a few tokens.
std::optional<LoadRow> decode_row(const std::vector<TimedAnswer>& answers);
// The last answer's prompt joined the others; empty where it took more than one step, or nothing shows it.
std::optional<LoadRow> mixed_row(const std::vector<TimedAnswer>& answers);

class LoadRunner {
 public:
  explicit LoadRunner(EndpointServer& server) : server_(server) {}

  // One short call that counts for nothing, and what metrics count in steps besides those of a prompt.
  void warm_up();
  PointResult run(const LoadPoint& point);
  std::int64_t block() const { return block_; }
  // Requests of several lengths were not computed anew: their prompts were found in the cache.
  std::int64_t cached_tokens() const { return cached_tokens_; }
  // Events held several tokens: gaps between them are no steps, and their mean is used.
  bool merged_tokens() const { return merged_tokens_; }
  // By /metrics, in any load: most requests that waited, and how often one was preempted.
  double most_waiting() const { return most_waiting_; }
  double preemptions() const { return preemptions_; }

 private:
  std::optional<double> steps_counted() const;
  void note_metrics(const AnsweredLoad& load);
  std::vector<LoadRow> usage_rows(const AnsweredLoad& load) const;
  PointResult run_capacity(const LoadPoint& point, const AnsweredLoad& load) const;

  EndpointServer& server_;
  std::int64_t block_ = kUsualBlock;
  bool block_known_ = false;
  bool counts_steps_ = false;
  double steps_besides_ = 0;
  std::int64_t cached_tokens_ = 0;
  bool merged_tokens_ = false;
  double most_waiting_ = 0;
  double preemptions_ = 0;
};

}  // namespace servetwin
