// The writers of a run, without its report: that is what /metrics has.
#include "cli/served_files.h"

#include <filesystem>

#include "scenarios/run_folder.h"

namespace servetwin {

void ServedFiles::declare(Arguments& arguments) {
  arguments.option("--out", "DIR", folder_,
                   "Writes requests.csv, steps.csv, timeline.json there at the end.");
  arguments.flag("--force", force_, "Replaces the files of an earlier run in DIR.");
}

std::vector<Observer*> ServedFiles::open(std::size_t num_replicas) {
  if (folder_.empty()) return {};
  // An earlier session's files go when this one has some of its own.
  if (!force_) prepare_run_folder(folder_, false);
  std::filesystem::create_directories(folder_);
  requests_ = std::make_unique<RequestsCsv>(path("requests.csv"), std::vector<std::string>{"default"});
  steps_ = std::make_unique<StepsCsv>(path("steps.csv"), num_replicas);
  TimelineWriter::Options options;
  options.num_replicas = num_replicas;
  timeline_ = std::make_unique<TimelineWriter>(path("timeline.json"), options);
  return {requests_.get(), steps_.get(), timeline_.get()};
}

std::vector<std::string> ServedFiles::commit() {
  if (folder_.empty()) return {};
  if (force_) prepare_run_folder(folder_, true);
  requests_->commit();
  steps_->commit();
  timeline_->commit();
  return {path("requests.csv"), path("steps.csv"), path("timeline.json")};
}

}  // namespace servetwin
