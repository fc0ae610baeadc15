// init: writes a commented scenario to start from, or the one that a launch command describes.
#include <filesystem>
#include <fmt/format.h>
#include <optional>
#include <vector>

#include "cli/verb.h"
#include "engine/base/error.h"
#include "engine/metrics/output_file.h"
#include "scenarios/json_schema.h"
#include "scenarios/launch/launch_command.h"
#include "scenarios/scenario.h"

namespace servetwin {
namespace {

constexpr const char* kStarter =
    R"(# What is served where, under which traffic, and what counts as good. Try:
#   servetwin validate @.yaml
#   servetwin simulate @.yaml
#   servetwin simulate @.yaml --set workload.arrivals.rate=8/s --force
apiVersion: servetwin/v1
kind: Scenario
metadata:
  name: @
spec:
  model: meta-llama/Llama-3.1-8B    # `servetwin list models`, or a folder with config.json
  device: h100-sxm                  # `servetwin list devices`
  replicas: 1
  layout: {tp: 1}
  engine:
    preset: vllm-v1                 # `servetwin list presets`
    max_num_seqs: 256               # running requests
    max_num_batched_tokens: 2048    # token budget of a step
    max_model_len: 8192
    memory_fraction: 0.9            # or num_blocks: 30000
  workload:
    arrivals: {process: poisson, rate: 4/s}       # `servetwin list arrivals`
    lengths: {table: azure-2023-conversation}
    duration: 5min
  router: least_outstanding         # `servetwin list routers`
  slo: {ttft: 500ms, itl: 50ms}
  cost: {model: analytic}           # `servetwin list cost-models`
  seed: 1
)";

class Init final : public Verb {
 public:
  using Verb::Verb;

  void declare(Arguments& arguments) override {
    arguments.optional_word("NAME", name_, "Name of the scenario; writes NAME.yaml and NAME.schema.json.");
    arguments.option("--from", "COMMAND", command_,
                     "A serving engine's launch command, in quotes, whose flags become the scenario.");
    arguments.option("--device", "DEVICE", device_, "What that command runs on.");
    arguments.flag("--force", force_, "Replaces files of those names.");
  }

  ExitCode run(Terminal& terminal) override {
    if (name_.empty()) name_ = "scenario";
    const std::string file = name_ + ".yaml";
    const std::string schema = name_ + ".schema.json";
    for (const std::string& path : {file, schema}) {
      std::error_code failed;
      if (force_ || !std::filesystem::exists(path, failed)) continue;
      throw ConfigError(Problem{"CFG301", SourcePlace{path, 0, 0}, "", "exists",
                                "give another name, or --force to replace it"});
    }
    const std::string base = std::filesystem::path(name_).filename().string();
    std::optional<LaunchReading> reading;
    if (!command_.empty()) reading = read_launch_command(command_, device_);
    if (command_.empty() && !device_.empty())
      throw UsageError("--device says what a command of --from runs on");
    write_file(schema, json_schema());
    write_file(file, "# yaml-language-server: $schema=" + base + ".schema.json\n" +
                         (reading ? scenario_text(*reading, base) : starter(base)));
    if (reading) terminal.out(to_text(*reading));
    terminal.out(file + '\n' + schema + "\nnext: servetwin simulate " + file + '\n');
    terminal.flush();
    if (reading) load_scenario(file);  // what a command asks for may be impossible
    return ExitCode::kOk;
  }

 private:
  static std::string starter(const std::string& name) {
    std::string text;
    for (const char* c = kStarter; *c != '\0'; ++c) text += *c == '@' ? name : std::string(1, *c);
    return text;
  }

  static std::string to_text(const LaunchReading& reading) {
    std::string text = "mapping: " + reading.mapping + '\n';
    for (const LaunchSetting& setting : reading.settings)
      text += fmt::format("  {}: {}  ({})\n", setting.path, setting.value, setting.origin);
    text += list("without effect on schedule and cost", reading.no_effect);
    text += list("not modelled, so results may differ by it", reading.not_modelled);
    return text + list("unknown, and left out", reading.unknown);
  }

  static std::string list(const std::string& title, const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += "  " + word + '\n';
    return words.empty() ? "" : title + ":\n" + text;
  }

  std::string name_;
  std::string command_;
  std::string device_;
  bool force_ = false;
};

const Registered<Verb, Init> kInit{"init", "Writes a commented scenario to start from."};

}  // namespace
}  // namespace servetwin
