// selfcheck: what can be proved on the user's own machine, in seconds.
#include <fmt/format.h>
#include <vector>

#include "cli/queue_check.h"
#include "cli/run_checks.h"
#include "cli/verb.h"
#include "engine/base/text.h"

namespace servetwin {
namespace {

// The mean of 100,000 customers strays from the stationary mean by a few percent.
constexpr double kTheoryTolerance = 0.08;

CheckRow queue_row(const char* name, ServiceLaw law, int servers) {
  const QueueCheck check = check_queue(law, servers, 0.8, 7);
  const double share = check.mean_wait_s / check.theory_wait_s;
  const bool near = share > 1 - kTheoryTolerance && share < 1 + kTheoryTolerance;
  return {name, check.different == 0 && check.little && near,
          fmt::format("{} of {} customers as the recursion says; mean wait {:.2f} ms, theory {:.2f} ms",
                      format_grouped(check.customers - check.different), format_grouped(check.customers),
                      check.mean_wait_s * 1e3, check.theory_wait_s * 1e3)};
}

class Selfcheck final : public Verb {
 public:
  using Verb::Verb;

  void declare(Arguments& /*arguments*/) override {}

  ExitCode run(Terminal& terminal) override {
    std::vector<CheckRow> rows;
    rows.push_back(queue_row("M/M/1", ServiceLaw::kExponential, 1));
    rows.push_back(queue_row("M/D/1", ServiceLaw::kConstant, 1));
    rows.push_back(queue_row("M/G/1", ServiceLaw::kUniform, 1));
    rows.push_back(queue_row("M/M/4", ServiceLaw::kExponential, 4));
    rows.push_back({"Little's law", check_queue(ServiceLaw::kExponential, 2, 0.6, 11).little,
                    "integral of requests present = sum of their times, to the nanosecond"});
    add_run_checks(rows);
    rows.push_back(check_invariant_report());
    bool all = true;
    for (const CheckRow& row : rows) {
      terminal.out(fmt::format("{:<6} {:<22} {}\n", row.ok ? "ok" : "FAILED", row.name, row.text));
      all = all && row.ok;
    }
    return all ? ExitCode::kOk : ExitCode::kVerdictFailed;
  }
};

const Registered<Verb, Selfcheck> kSelfcheck{"selfcheck",
                                             "Proves on this machine what a simulation must keep."};

}  // namespace
}  // namespace servetwin
