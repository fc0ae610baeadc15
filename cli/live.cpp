// live: runs a scenario on the real executor and writes the same files as simulate, the journal always.
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <string>

#include "cli/numbers.h"
#include "cli/split_layout_options.h"
#include "cli/stop_signal.h"
#include "cli/thread_places.h"
#include "cli/token_collector.h"
#include "cli/verb.h"
#include "engine/metrics/output_file.h"
#include "engine/metrics/summary.h"
#include "scenarios/live_world.h"
#include "scenarios/run.h"

namespace servetwin {
namespace {

class Live final : public Verb {
 public:
  using Verb::Verb;

  void declare(Arguments& arguments) override {
    arguments.word("SCENARIO", scenario_,
                   "A scenario file, - for standard input, or a shipped scenario's name.");
    arguments.repeated("--set", "KEY=VALUE", overrides_.set, "Sets one value, as for simulate.");
    arguments.option("--out", "DIR", options_.out, "Folder for the run's files; by default runs/NAME-live.");
    arguments.flag("--force", options_.force, "Replaces the files of an earlier run in that folder.");
    arguments.flag("--steps", options_.steps, "Also writes steps.csv: a line for each step.");
    arguments.flag("--tokens", tokens_, "Also writes tokens.jsonl: the token ids of each answer.");
    arguments.flag("--json", json_, "Prints summary.json on standard output instead of sentence and table.");
    arguments.option("--threads", "N", threads_,
                     "Threads that compute, of each rank of each replica; by default 1.");
    arguments.option("--kv-cache", "none", kv_cache_,
                     "Computes whole sequences in every step, to show what the KV cache saves.");
    layout_.declare(arguments);
    places_.declare(arguments);
    arguments.option("--temperature", "T", temperature_, "0, the default: the most likely token.");
  }

  ExitCode run(Terminal& terminal) override {
    LiveWorldOptions world_options;
    world_options.threads = static_cast<int>(whole_option("live", "--threads", threads_, {1, 256}));
    world_options.kv_cache = has_kv_cache();
    world_options.layout = layout_.layout();
    world_options.sampling.temperature =
        static_cast<float>(decimal_option("live", "--temperature", temperature_, {0, 100}));
    const Scenario scenario = load_scenario(scenario_, overrides_);
    world_options.sampling.seed = static_cast<std::uint64_t>(scenario.spec().seed);
    const std::int64_t ranks = scenario.spec().replicas * scenario.spec().layout.tp;
    places_.take("live", static_cast<std::size_t>(world_options.threads * ranks));
    world_options.cpus = places_.compute();
    terminal.err(places_.text());
    if (options_.out.empty()) options_.out = "runs/" + scenario.document.metadata.name + "-live";
    TokenCollector collector;
    if (tokens_) world_options.sink = [&collector](const OutputToken& token) { collector.take(token); };
    LiveWorld world(scenario, std::move(world_options));
    terminal.err(world.ranks_text());
    catch_stop_signals();
    options_.stop = stop_requested();
    options_.journal = true;
    options_.plain_loop = true;
    options_.world = &world;
    RunResult result = run_scenario(scenario, options_);
    if (tokens_) {
      result.files.push_back((std::filesystem::path(options_.out) / "tokens.jsonl").string());
      write_file(result.files.back(), collector.text());
    }
    print(result, world, terminal);
    if (result.state == RunState::kInterrupted) {
      terminal.err("interrupted: the files hold what ran until then, marked incomplete\n");
      return static_cast<ExitCode>(128 + stop_signal());
    }
    if (result.state != RunState::kStalled) return ExitCode::kOk;
    terminal.err("verdict: stalled\n");
    return ExitCode::kVerdictFailed;
  }

 private:
  bool has_kv_cache() const {
    if (kv_cache_.empty()) return true;
    if (kv_cache_ == "none") return false;
    throw UsageError("servetwin live: --kv-cache takes none, or is left out, not " + kv_cache_);
  }

  // What was computed is one of both.
  static std::string flops_line(const FlopCount& flops) {
    const auto giga = [](std::int64_t count) { return static_cast<double>(count) / 1e9; };
    return fmt::format("model: {:.6g} GFLOP computed; {:.6g} with a KV cache, {:.6g} without\n\n",
                       giga(flops.computed), giga(flops.with_cache), giga(flops.without_cache));
  }

  // Of all ranks; empty for replicas of one.
  static std::string collectives_line(const CollectiveCheck& told) {
    if (told.counted == CollectiveVolume{}) return "";
    return "ranks: " + to_text(told.counted) +
           (told.counted == told.by_formula ? ", as the formulas say\n\n"
                                            : "; by formula " + to_text(told.by_formula) + "\n\n");
  }

  void print(const RunResult& result, const LiveWorld& world, Terminal& terminal) const {
    if (json_) {
      terminal.out(summary_json(result.report, result.provenance));
      return;
    }
    terminal.out(terminal.bold(answer_sentence(result.report, result.deployment)) + "\n\n");
    terminal.out(answer_table(result.report) + '\n');
    if (world.flops()) terminal.out(flops_line(*world.flops()));
    if (world.collectives()) terminal.out(collectives_line(*world.collectives()));
    terminal.out("files:\n");
    for (const std::string& file : result.files) terminal.out("  " + file + '\n');
    terminal.out("next: servetwin parity " + options_.out + '\n');
  }

  std::string scenario_;
  std::string threads_ = "1";
  std::string temperature_ = "0";
  std::string kv_cache_;
  ScenarioOverrides overrides_;
  SplitLayoutOptions layout_;
  ThreadPlaces places_;
  RunOptions options_;
  bool tokens_ = false;
  bool json_ = false;
};

const Registered<Verb, Live> kLive{"live", "Runs a scenario on a real model instead of simulating it."};

}  // namespace
}  // namespace servetwin
