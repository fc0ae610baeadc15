// calibrate: measures what steps take on this machine and writes a profile that the cost model `fitted`
// reads; `calibrate verify` asks whether a profile still holds.
#include <fmt/format.h>
#include <future>

#include "cli/calibrate_endpoint.h"
#include "cli/calibration.h"
#include "cli/calibration_check.h"
#include "cli/numbers.h"
#include "cli/stop_signal.h"
#include "cli/thread_places.h"
#include "cli/verb.h"
#include "engine/base/unit_text.h"
#include "engine/metrics/output_file.h"
#include "scenarios/yaml_loader.h"

namespace servetwin {
namespace {

constexpr int kHostShare = 6;  // one in so many parts of the budget

class Calibrate final : public Verb {
 public:
  using Verb::Verb;

  void declare(Arguments& arguments) override {
    arguments.optional_words(
        "SCENARIO", words_,
        "A scenario: its model, number formats and engine limits are what is measured. Or: verify "
        "PROFILE SCENARIO.");
    arguments.repeated("--set", "KEY=VALUE", overrides_.set, "Sets one value, as for simulate.");
    arguments.option("--budget", "TIME", budget_,
                     "Time to measure, such as 10min; by default 1min, with --endpoint 5min.");
    arguments.option("--out", "FILE", out_, "The profile; by default NAME.profile.yaml.");
    arguments.option("--rows", "FILE", rows_, "The measured rows; by default beside the profile.");
    arguments.flag("--force", force_, "Measures anew, replacing profile and rows.");
    arguments.option("--threads", "N", threads_, "Threads that compute, per replica; by default 1.");
    places_.declare(arguments);
    endpoint_.declare(arguments);
    arguments.option("--seed", "N", seed_, "Of the choice of steps; by default 1.");
    arguments.option(
        "--good-enough", "SHARE", good_enough_,
        "Ends once half of the steps left out are off by less, in every region; by default 0.01.");
  }

  ExitCode run(Terminal& terminal) override {
    if (endpoint_.is_asked()) {
      const bool usual = threads_ == "1" && seed_ == "1" && good_enough_ == "0.01" && !places_.is_given();
      if (!usual)
        throw UsageError(
            "servetwin calibrate: --threads, --cpus, --seed, --good-enough do not go with --endpoint");
      return endpoint_.run(words_, overrides_, {out_, rows_, force_}, budget("5min"), terminal);
    }
    endpoint_.refuse_unasked();
    const bool verify = !words_.empty() && words_.front() == "verify";
    if (words_.size() != (verify ? 3U : 1U)) {
      throw UsageError("servetwin calibrate: takes a scenario, or verify, a profile and a scenario");
    }
    const auto threads = static_cast<int>(whole_option("calibrate", "--threads", threads_, {1, 256}));
    seed_number_ = static_cast<std::uint64_t>(whole_option("calibrate", "--seed", seed_, {0, 1'000'000}));
    places_.take("calibrate", static_cast<std::size_t>(threads));
    terminal.err(places_.text());
    catch_stop_signals();
    const CalibrationTarget target =
        calibration_target(words_.back(), overrides_, threads, places_.compute());
    return verify ? check(target, terminal) : calibrate(target, terminal);
  }

 private:
  Duration budget(const char* otherwise) const {
    const std::string text = budget_.empty() ? otherwise : budget_;
    const auto time = parse_duration(text);
    if (!time || *time.value <= Duration{0}) {
      throw UsageError("servetwin calibrate: --budget takes a time such as 10min, not " + text);
    }
    return *time.value;
  }

  ExitCode check(const CalibrationTarget& target, Terminal& terminal) const {
    const StepProfile profile = profile_from(load_yaml_file(words_[1]));
    const auto make = [&] { return check_profile(profile, target, budget("10s"), seed_number_); };
    const ProfileCheck result = std::async(std::launch::async, make).get();
    terminal.out(result.text);
    return result.holds ? ExitCode::kOk : ExitCode::kVerdictFailed;
  }

  ExitCode calibrate(const CalibrationTarget& target, Terminal& terminal) {
    const std::string out = out_.empty() ? target.scenario.document.metadata.name + ".profile.yaml" : out_;
    const std::string rows_file = rows_.empty() ? out + ".rows.csv" : rows_;
    check_device(target);
    make_way_for(out, rows_file, force_);
    const Duration all = budget("1min");
    RowsFile rows(rows_file, target.subject, target.space, seed_number_);
    const std::vector<MeasuredStep> host =
        measure_host(target, all / kHostShare, out + ".live", stop_requested());
    const CampaignOptions options = campaign_options(all - all / kHostShare, terminal);
    const auto measure_all = [&] { return measure(*make_timer(target), target.space, rows, options); };
    // A thread of its own, for it takes the place of a compute thread.
    const CampaignProgress done = std::async(std::launch::async, measure_all).get();
    terminal.progress("");
    if (*stop_requested()) {
      terminal.err("interrupted: the same command goes on from " + rows_file + '\n');
      return static_cast<ExitCode>(128 + stop_signal());
    }
    const StepProfile profile = fitted_profile(target.subject, rows.rows(), host, out);
    write_file(out, write_yaml(write_profile(profile),
                               "A step profile that `servetwin calibrate` measured; docs/calibrate.md."));
    terminal.out(amount_of(done, profile, rows.rows()) + summary_of(profile));
    terminal.out("\nfiles:\n  " + out + "\n  " + rows_file + '\n');
    terminal.out(fmt::format("next: servetwin fidelity {} --profile {}\n", words_.front(), out));
    return ExitCode::kOk;
  }

  CampaignOptions campaign_options(Duration time, Terminal& terminal) const {
    CampaignOptions options;
    options.budget = time;
    options.fewest_rows = kSweep;
    options.seed = seed_number_;
    options.good_enough = decimal_option("calibrate", "--good-enough", good_enough_, {0.0, 1.0});
    options.stop = stop_requested();
    if (terminal.shows_progress()) {
      options.progress = [&terminal, time](const CampaignProgress& now) {
        terminal.progress(fmt::format(
            "{} rows, {:.0f} of {:.0f} s{}", now.rows, to_seconds(now.spent), to_seconds(time),
            now.error ? fmt::format(", off by {:.1f} % in the worst region", 100 * *now.error) : ""));
      };
    }
    return options;
  }

  std::vector<std::string> words_;
  ScenarioOverrides overrides_;
  std::string budget_;
  std::string out_;
  std::string rows_;
  std::string threads_ = "1";
  std::string seed_ = "1";
  std::string good_enough_ = "0.01";
  ThreadPlaces places_;
  EndpointCalibration endpoint_;
  bool force_ = false;
  std::uint64_t seed_number_ = 1;
};

const Registered<Verb, Calibrate> kCalibrate{
    "calibrate", "Measures steps on this machine or a server; writes a profile for `fitted`."};

}  // namespace
}  // namespace servetwin
