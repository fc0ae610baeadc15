// What answers behind a server: a model that runs here, or a simulated deployment.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "cli/arguments.h"
#include "cli/served_files.h"
#include "cli/served_model.h"
#include "cli/terminal.h"
#include "cli/thread_places.h"
#include "engine/live/http/completion_engine.h"
#include "scenarios/scenario.h"

namespace servetwin {

class ServedEngine {
 public:
  void declare(Arguments& arguments);
  // Throws UsageError, before anything is opened.
  void check() const;
  // Begins the session's files, if there are to be some. This and the listener must outlive the engine.
  std::unique_ptr<CompletionEngine> start(AnswerListener& listener, ServedFiles& files, Terminal& terminal);

 private:
  double speed() const;
  std::unique_ptr<CompletionEngine> simulated(AnswerListener& listener,
                                              ServedFiles& files,
                                              Terminal& terminal);
  std::unique_ptr<CompletionEngine> live(AnswerListener& listener, ServedFiles& files, Terminal& terminal);

  std::string name_;
  std::string scenario_name_;
  std::string speed_ = "1";
  ScenarioOverrides overrides_;
  ServedModel model_;
  ThreadPlaces places_;
  std::optional<Scenario> scenario_;  // of what is served
};

}  // namespace servetwin
