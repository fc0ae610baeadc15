// The checks of selfcheck that run a scenario, or a process.
#include "cli/run_checks.h"

#include <filesystem>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/rerun.h"
#include "cli/verb.h"
#include "engine/base/check.h"
#include "engine/base/text.h"
#include "scenarios/run.h"

namespace servetwin {
namespace {

// Small, and with everything in it that makes a plan change: chunks, prefixes, preemptions, several replicas.
constexpr const char* kScenario = R"(apiVersion: servetwin/v1
kind: Scenario
metadata: {name: selfcheck}
spec:
  model: meta-llama/Llama-3.1-8B
  device: h100-sxm
  replicas: 2
  engine: {max_num_seqs: 32, max_num_batched_tokens: 1024, max_model_len: 4096, num_blocks: 500}
  workload:
    arrivals: {process: poisson, rate: 20/s}
    lengths:
      input: {distribution: uniform, low: 16, high: 1500}
      output: {distribution: uniform, low: 10, high: 400}
    num_requests: 600
  router: least_outstanding
  cost: {model: analytic}
)";

RunDigests digests_of(const RunResult& result) {
  return {result.provenance.decisions_digest, result.provenance.timeline_digest};
}

// A folder of its own below the system's, gone with this object.
class ScratchFolder {
 public:
  ScratchFolder()
      : path_(std::filesystem::temp_directory_path() / fmt::format("servetwin-selfcheck-{}", ::getpid())) {}
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace

void add_run_checks(std::vector<CheckRow>& rows) {
  const Scenario scenario = parse_scenario(kScenario, "selfcheck");
  const ScratchFolder folder;
  RunOptions options;
  options.out = folder.path();
  options.force = true;
  options.journal = true;
  const RunResult fast = run_scenario(scenario, options);
  RunOptions plain_options;
  plain_options.plain_loop = true;
  const RunResult plain = run_scenario(scenario, plain_options);
  const Outcomes& all = fast.report.all;
  rows.push_back({"conservation",
                  all.injected == 600 && all.injected == all.completed + all.rejected + all.timed_out +
                                                             all.cancelled + all.failed,
                  fmt::format("{} injected, {} completed, {} preemptions", all.injected, all.completed,
                              fast.report.usage.preemptions)});
  rows.push_back(
      {"shortcut = plain loop", digests_of(fast) == digests_of(plain),
       fmt::format("{} steps, both digests", format_grouped(static_cast<std::int64_t>(fast.steps)))});
  JournalReader reader(run_file(folder.path(), "journal.jsonl.zst"));
  const std::unique_ptr<Rerun> rerun = replay_journal(reader, {});
  serve(rerun->cluster(), rerun->backend());
  rows.push_back({"replay of own journal", rerun->trouble().empty() && rerun->digests() == digests_of(fast),
                  fmt::format("{} events, both digests",
                              format_grouped(static_cast<std::int64_t>(rerun->cluster().num_events())))});
}

CheckRow check_invariant_report() {
  int ends[2] = {-1, -1};
  if (::pipe(ends) != 0) return {"broken invariant", false, "no pipe"};
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], STDERR_FILENO);
    CHECK_INVARIANT(1 + 1 == 3, 2);
  }
  ::close(ends[1]);
  std::string message(4096, '\0');
  const ssize_t size = child < 0 ? 0 : ::read(ends[0], message.data(), message.size());
  ::close(ends[0]);
  message.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
  int status = 0;
  const bool ended = child > 0 && ::waitpid(child, &status, 0) == child && WIFEXITED(status);
  const int code = ended ? WEXITSTATUS(status) : -1;
  const bool named = message.find("servetwin selfcheck") != std::string::npos;
  return {"broken invariant", named && code == static_cast<int>(ExitCode::kBroken),
          fmt::format("reported with exit code {} and the command to repeat", code)};
}

}  // namespace servetwin
