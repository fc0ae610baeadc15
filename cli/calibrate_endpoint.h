// calibrate --endpoint: its options, and what it prints.
#pragma once

#include <string>
#include <vector>

#include "cli/arguments.h"
#include "cli/terminal.h"
#include "cli/verb.h"
#include "engine/base/time.h"
#include "scenarios/scenario.h"

namespace servetwin {

class EndpointCalibration {
 public:
  void declare(Arguments& arguments);
  bool is_asked() const { return !url_.empty(); }

  // Throws UsageError for options of it where no server is named.
  void refuse_unasked() const;

  // Where results go; empty names are made of the scenario's.
  struct Files {
    std::string out;
    std::string rows;
    bool force = false;
  };
  // `scenario` names what the server runs; none: nobody knows.
  ExitCode run(const std::vector<std::string>& scenario,
               const ScenarioOverrides& overrides,
               const Files& files,
               Duration budget,
               Terminal& terminal) const;

 private:
  std::string api_key() const;

  std::string url_;
  std::string model_;
  std::string api_key_env_;
  std::string max_concurrency_ = "64";
  std::string max_prompt_ = "8192";
};

}  // namespace servetwin
