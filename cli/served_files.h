// The files of a served session: every request, every step, and both as a timeline.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "engine/metrics/row_files.h"
#include "engine/metrics/timeline.h"

namespace servetwin {

class ServedFiles {
 public:
  void declare(Arguments& arguments);
  // Makes the files, if any were asked for, and returns who fills them.
  std::vector<Observer*> open(std::size_t num_replicas);
  // Nothing more is served. Returns the paths.
  std::vector<std::string> commit();

 private:
  std::string path(const char* name) const { return folder_ + '/' + name; }

  std::string folder_;
  bool force_ = false;
  std::unique_ptr<RequestsCsv> requests_;
  std::unique_ptr<StepsCsv> steps_;
  std::unique_ptr<TimelineWriter> timeline_;
};

}  // namespace servetwin
