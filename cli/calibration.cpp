// The scenario's engine limits say how far steps go; its traffic plays no part.
#include "cli/calibration.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fstream>
#include <memory>
#include <utility>

#include "calibrate/measure/model_timer.h"
#include "cli/arguments.h"
#include "cli/live_steps.h"
#include "engine/base/params.h"
#include "engine/base/text.h"
#include "generated/servetwin_build.h"
#include "kernels/vectors/dispatch.h"
#include "scenarios/model_source.h"

namespace servetwin {
namespace {

constexpr std::size_t kFirstSteps = 3;  // of a live run, in which caches and threads warm up

std::string cpu_name() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("model name", 0) == 0) return line.substr(std::min(line.size(), line.find(':') + 2));
  }
  return "unknown";
}

StepSpace space_of(const Scenario& scenario) {
  const EngineConfig& engine = scenario.spec().engine.config;
  StepSpace space;
  space.tokens = engine.max_num_batched_tokens.value;
  space.sequences = engine.max_num_seqs;
  space.block_size = engine.block_size.value;
  space.blocks = scenario.num_blocks().value - 1;
  space.context = std::min(scenario.max_model_len().value, space.blocks * space.block_size);
  space.tokens = std::min(space.tokens, space.blocks * space.block_size);
  return space;
}

RunnerOptions runner_options(const CalibrationTarget& target) {
  const Scenario& scenario = target.scenario;
  RunnerOptions options;
  options.block_size = scenario.spec().engine.config.block_size;
  options.max_model_len = scenario.max_model_len();
  options.threads = target.threads;
  options.kv_dtype = scenario.spec().engine.kv_dtype.value_or(DType::kF32);
  options.cpus = target.cpus;
  return options;
}

// Keeps the weights that it runs on.
class WholeTimer final : public StepTimer {
 public:
  explicit WholeTimer(const CalibrationTarget& target)
      : weights_(named_weights(target.scenario.spec().model, target.scenario.model, 1)),
        timer_(target.scenario.model, weights_, runner_options(target), target.space) {}

  void prepare(const PlannedStep& step) override { timer_.prepare(step); }
  TimedRun run() override { return timer_.run(); }
  Duration now() override { return timer_.now(); }

 private:
  ModelWeights weights_;
  ModelTimer timer_;
};

// Everyone at once, three times as many as there are places: rows come and go as long as it lasts.
Scenario host_scenario(const CalibrationTarget& target, std::int64_t run) {
  const StepSpace& space = target.space;
  const std::int64_t prompt = std::clamp<std::int64_t>(space.context / 4, 1, 128);
  const std::int64_t answer = std::clamp<std::int64_t>(space.context / 4, 1, 48);
  const std::int64_t requests = std::min<std::int64_t>(3 * space.sequences, 96);
  ScenarioOverrides overrides = target.given;
  for (const char* nothing : {"slo", "front_end", "run", "initial"})
    overrides.set.push_back(std::string(nothing) + "=null");
  overrides.set.push_back(
      fmt::format("workload={{num_requests: {}, arrivals: all_at_once, lengths: {{input: {{distribution: "
                  "uniform, low: 1, "
                  "high: {}}}, output: {{distribution: uniform, low: 1, high: {}}}}}}}",
                  requests, prompt, answer));
  overrides.set.emplace_back("cost={model: linear, base: 1ms, per_token_ns: 1000, per_context_ns: 1}");
  overrides.set.emplace_back("engine.in_flight={depth: 1, speculate_outputs: false}");
  overrides.set.emplace_back("replicas=1");
  overrides.set.push_back(fmt::format("seed={}", run + 1));
  return load_scenario(target.name, overrides);
}

}  // namespace

ProfileSubject subject_here(const Scenario& scenario, int threads) {
  const EngineSpec& engine = scenario.spec().engine;
  ProfileSubject subject;
  subject.device = scenario.device.name;
  subject.model = scenario.model.name;
  subject.shape = shape_text(scenario.model);
  subject.dtype = name_of(engine.dtype.value_or(scenario.model.dtype));
  subject.kv_dtype = name_of(engine.kv_dtype.value_or(DType::kF32));
  subject.threads = threads;
  subject.cpu = cpu_name();
  subject.kernels = vector_kernels().name;
  subject.build = fmt::format("{} {}{}", kCompiler, kBuildType, kBuildFlags.empty() ? "" : " ") +
                  std::string(kBuildFlags);
  subject.date = fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::chrono::system_clock::now()));
  return subject;
}

std::string subject_differences(const ProfileSubject& profile, const ProfileSubject& here) {
  std::vector<std::string> all;
  const auto compare = [&](const char* what, const std::string& a, const std::string& b) {
    if (a != b) all.push_back(std::string(what) + ' ' + a + ", not " + b);
  };
  compare("device", profile.device, here.device);
  compare("cpu", profile.cpu, here.cpu);
  compare("kernels", profile.kernels, here.kernels);
  compare("build", profile.build, here.build);
  compare("threads", std::to_string(profile.threads), std::to_string(here.threads));
  compare("model", profile.shape, here.shape);
  compare("weights", profile.dtype, here.dtype);
  compare("KV cache", profile.kv_dtype, here.kv_dtype);
  return join(all, "; ");
}

CalibrationTarget calibration_target(const std::string& name,
                                     const ScenarioOverrides& overrides,
                                     int threads,
                                     std::vector<int> cpus) {
  CalibrationTarget target{name, overrides, load_scenario(name, overrides), {}, {}, threads, std::move(cpus)};
  check_live(target.scenario);
  if (const std::int64_t ranks = target.scenario.spec().layout.tp; ranks != 1) {
    throw ConfigError(Problem{"CFG401",
                              {},
                              "spec.layout.tp",
                              fmt::format("a profile is of one rank, and there are {}", ranks),
                              "use tp 1"});
  }
  target.subject = subject_here(target.scenario, threads);
  target.space = space_of(target.scenario);
  return target;
}

std::unique_ptr<StepTimer> make_timer(const CalibrationTarget& target) {
  return std::make_unique<WholeTimer>(target);
}

std::vector<MeasuredStep> measure_host(const CalibrationTarget& target,
                                       Duration budget,
                                       const std::string& folder,
                                       const volatile bool* stop) {
  const auto start = std::chrono::steady_clock::now();
  std::vector<MeasuredStep> steps;
  std::int64_t run = 0;
  do {
    LiveWorldOptions world;
    world.threads = target.threads;
    world.cpus = target.cpus;
    const LiveRunSteps live = run_live_steps(host_scenario(target, run++), std::move(world), folder, stop);
    for (std::size_t i = kFirstSteps; i < live.steps.size(); ++i) {
      const LiveStep& step = live.steps[i];
      steps.push_back({step.shape, static_cast<double>(to_ns(step.whole() - step.computed))});
    }
  } while (!*stop && std::chrono::steady_clock::now() - start < budget);
  std::filesystem::remove_all(folder);
  return steps;
}

StepProfile fitted_profile(const ProfileSubject& subject,
                           const std::vector<StepRowTimes>& rows,
                           const std::vector<MeasuredStep>& host,
                           const std::string& source) {
  const std::vector<MeasuredStep> steps = merged_steps(rows);
  StepFit fit = fit_steps(steps, source);
  StepProfile profile;
  profile.measured = subject;
  profile.measured.steps = static_cast<std::int64_t>(steps.size());
  profile.measured.host_steps = static_cast<std::int64_t>(host.size());
  profile.domain = fit.domain;
  profile.step = std::move(fit.terms);
  profile.host = fit_host(host, source);
  profile.error = fit.error;
  return profile;
}

std::string amount_of(const CampaignProgress& done,
                      const StepProfile& profile,
                      const std::vector<StepRowTimes>& rows) {
  const double noise = repeat_difference(rows);
  return fmt::format(
      "{} rows of {} steps in {:.0f} s{}\n\n", done.rows, profile.measured.steps, to_seconds(done.spent),
      noise > 0 ? fmt::format("; the same step again differs by {:.1f} % in the median", 100 * noise) : "");
}

std::string error_table(const HeldOutErrors& errors) {
  const auto percent = [](double share) { return fmt::format("{:.1f} %", 100 * share); };
  std::string text =
      fmt::format("{:<10}{:>6}{:>9}{:>9}   {}\n", "region", "steps", "median", "p90", "90 of 100 within");
  const auto row = [&](StepRegion region, const RegionError& error) {
    if (error.steps == 0) {
      text += fmt::format("{:<10}{:>6}\n", to_string(region), 0);
      return;
    }
    text += fmt::format("{:<10}{:>6}{:>9}{:>9}   {:+.1f} to {:+.1f} %\n", to_string(region), error.steps,
                        percent(error.median), percent(error.p90), 100 * error.low, 100 * error.high);
  };
  row(StepRegion::kDecode, errors.decode);
  row(StepRegion::kPrefill, errors.prefill);
  row(StepRegion::kMixed, errors.mixed);
  return text;
}

std::string summary_of(const StepProfile& profile) {
  const HostTerms& host = profile.host;
  return "error of steps whose shape group was left out of the fit:\n" + error_table(profile.error) +
         fmt::format("\nhost: {:.3g} us a step, {:.3g} us a row, {:.3g} us a new sequence\n",
                     host.step_ns / 1e3, (host.row_ns + host.sampled_ns) / 1e3, host.new_sequence_ns / 1e3);
}

void make_way_for(const std::string& out, const std::string& rows, bool force) {
  if (rows == out) throw UsageError("servetwin calibrate: --rows and --out name the same file");
  const auto refuse = [](const std::string& file, const char* what, const char* remedy) {
    throw ConfigError(Problem{"CFG301", {file, 0, 0}, "", what, remedy});
  };
  for (const std::string& file : {out, rows}) {
    if (std::filesystem::exists(file) && !std::filesystem::is_regular_file(file))
      refuse(file, "is there and no regular file", "give another name");
  }
  if (force) {
    std::filesystem::remove(out);
    std::filesystem::remove(rows);
  } else if (std::filesystem::exists(out)) {
    refuse(out, "is there already", "give another --out, or --force to measure anew");
  }
}

void check_device(const CalibrationTarget& target) {
  const DeviceSpec& device = target.scenario.device;
  if (device.multiprocessors == 0) return;
  throw ConfigError(Problem{kCodeInconsistent,
                            {},
                            "spec.device",
                            device.name + " is a GPU, and what is measured is this machine's CPU",
                            "use --set device=cpu"});
}

}  // namespace servetwin
