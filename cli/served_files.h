// The folder of a served session: what a run's has, journal included.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/journal/journal_writer.h"
#include "engine/serving/cluster.h"
#include "scenarios/scenario.h"

namespace servetwin {

// Where the durations of a session's steps come from.
struct DurationOrigin {
  std::string cost_model;
  std::string profile_hash;  // empty without a profile
  std::string evidence;
};

class ServedFiles {
 public:
  // No folder: no files.
  ServedFiles(std::string folder, bool force);
  ~ServedFiles();
  ServedFiles(const ServedFiles&) = delete;
  ServedFiles& operator=(const ServedFiles&) = delete;

  bool are_wanted() const { return !folder_.empty(); }
  // Begins the files; an earlier session's stay until commit(). The scenario must outlive them.
  void open(const Scenario& scenario, DurationOrigin origin);
  // Who fills them; none before open().
  std::vector<Observer*> observers() const;
  JournalWriter* journal() const;
  // Nothing more is served. Returns the paths.
  std::vector<std::string> commit(const Cluster& cluster);

 private:
  struct Session;

  std::string folder_;
  bool force_;
  std::unique_ptr<Session> session_;
};

}  // namespace servetwin
