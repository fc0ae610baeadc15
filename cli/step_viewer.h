// A person at a terminal, going through the steps of a run by keys.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "cli/screen.h"
#include "cli/step_player.h"
#include "cli/step_view.h"
#include "cli/terminal.h"
#include "cli/verb.h"

namespace servetwin {

class StepViewer {
 public:
  // Says what is to be said of a run that is over, in a line.
  using Verdict = std::function<std::string(const RunEnd&)>;

  StepViewer(StepPlayer& player, const Terminal& terminal, Verdict verdict);

  // Shows the first step and follows the keys; what the process ends with.
  ExitCode run(RequestId followed);

 private:
  enum class Mode { kSteps, kAskStep, kAskRequest, kHelp };

  void draw();
  void draw_progress(StepId reached, StepId target);
  std::string last_line() const;
  bool look_up_from_work(StepId reached, StepId target);
  bool go_to(StepId step);
  void move(std::int64_t steps);
  void go_to_change(bool forwards);
  void follow_next(bool down);
  void on_key(const KeyPress& press);
  void on_step_key(const KeyPress& press);
  void on_letter(char letter);
  void on_number_key(const KeyPress& press);

  StepPlayer& player_;
  bool styles_;
  Verdict verdict_;
  Screen screen_;
  StepFrame frame_;  // on the screen
  RequestId followed_ = kNoRequest;
  Mode mode_ = Mode::kSteps;
  std::string typed_;
  std::string message_;
  StepId drawn_at_{0};  // progress was
  bool told_end_ = false;
  bool quits_ = false;
  bool stopped_ = false;  // by a signal
};

}  // namespace servetwin
