// parity: simulates a recorded run with its own arrivals and durations and compares every decision.
#include <fmt/format.h>

#include "cli/parity_check.h"
#include "cli/verb.h"
#include "engine/base/text.h"

namespace servetwin {
namespace {

class Parity final : public Verb {
 public:
  using Verb::Verb;

  void declare(Arguments& arguments) override {
    arguments.word("RUN", path_, "A run's folder with its journal, or a journal.");
  }

  ExitCode run(Terminal& terminal) override {
    const ParityResult result = check_parity(journal_of(path_));
    const auto& first = result.comparison.first;
    if (result.stopped && (!first || !first->a)) {
      terminal.out("The run was stopped: all steps until then are equal.\n");
      return ExitCode::kOk;
    }
    terminal.out(to_text(result.comparison, path_, "its simulation"));
    const RunDigests& a = result.recorded;
    const RunDigests& b = result.simulated;
    terminal.out(row("decisions", a.decisions, b.decisions) + row("timeline", a.timeline, b.timeline));
    return a == b ? ExitCode::kOk : ExitCode::kVerdictFailed;
  }

 private:
  static std::string row(const char* name, std::uint64_t recorded, std::uint64_t simulated) {
    return fmt::format("  {:<10} recorded {}  simulated {}  {}\n", name, to_hex(recorded), to_hex(simulated),
                       recorded == simulated ? "equal" : "different");
  }

  std::string path_;
};

const Registered<Verb, Parity> kParity{
    "parity", "Simulates a recorded run with its own arrivals and durations; compares every decision."};

}  // namespace
}  // namespace servetwin
