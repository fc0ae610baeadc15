// requests.csv (a line a request, as it ends) and steps.csv (a line a step), streamed.
#pragma once

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
  RequestsCsv(std::string path, std::vector<std::string> class_names);
  void on_end(const RequestRecord& record) override;
  void commit() { file_.commit(); }

 private:
  OutputFile file_;
  std::vector<std::string> class_names_;
};

class StepsCsv final : public Observer {
 public:
  explicit StepsCsv(std::string path);
  void on_plan(const StepPlan& plan) override;
  void commit() { file_.commit(); }

 private:
  OutputFile file_;
};

// The gaps between the tokens of each request, in order of id, as JSON Lines: {"id":0,"itls_ns":[...]}.
void write_gap_lists(const std::string& path, const std::map<RequestId, std::vector<Duration>>& gaps);

}  // namespace servetwin
