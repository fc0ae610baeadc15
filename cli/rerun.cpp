// The core is built from the scenario in both cases; only the backend differs.
#include "cli/rerun.h"

#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/journal/replay_backend.h"
#include "engine/workload/plugin_choice.h"
#include "scenarios/assemble.h"
#include "scenarios/input_text.h"

namespace servetwin {
namespace {

class JournalRerun final : public Rerun {
 public:
  JournalRerun(std::unique_ptr<JournalReader> reader, std::vector<Observer*> observers)
      : JournalRerun(*reader, std::move(observers), true) {
    own_reader_ = std::move(reader);
  }
  JournalRerun(JournalReader& reader, std::vector<Observer*> observers, bool plain = false)
      : reader_(reader),
        scenario_(parse_scenario(reader.header().scenario, reader.name())),
        rule_inputs_(rule_inputs(scenario_)),
        cluster_(
            config_of(scenario_, rule_inputs_, plain),
            [this] {
              return make_rules(spec().engine.rules, spec().engine.rule_parameters, rule_inputs_.context);
            },
            make_choice<Router>(spec().router, "name", "round_robin"),
            std::move(observers)),
        backend_(reader, [this](const RequestSpec& request) { cluster_.add_request(request); }) {
    if (spec().initial.kv_cache != "cold") warm_caches(*assemble(scenario_).warm, cluster_);
  }

  const Scenario& scenario() const override { return scenario_; }
  Cluster& cluster() override { return cluster_; }
  Backend& backend() override { return backend_; }
  std::string trouble() const override { return backend_.mismatch().value_or(reader_.end_text()); }
  std::optional<std::string> difference() const override { return backend_.mismatch(); }
  std::optional<Problem> cut() const override {
    if (backend_.mismatch() || reader_.footer()) return std::nullopt;
    return Problem{"JRN007", SourcePlace{reader_.name(), static_cast<int>(reader_.line()), 0}, "",
                   "is cut off after this line, so that it is not the whole run",
                   "copy it again from its source, or record the run again with --journal"};
  }

 private:
  static ClusterConfig config_of(const Scenario& scenario, const RuleInputs& inputs, bool plain) {
    EngineConfig engine = engine_config(scenario);
    engine.plain_loop = plain;
    if (inputs.cost != nullptr) engine.priced_window = Tokens{inputs.cost->window()};
    ClusterConfig config;
    config.replicas.assign(static_cast<std::size_t>(scenario.spec().replicas), engine);
    return config;
  }

  const ScenarioSpec& spec() const { return scenario_.spec(); }

  std::unique_ptr<JournalReader> own_reader_;  // or empty
  JournalReader& reader_;
  Scenario scenario_;
  RuleInputs rule_inputs_;
  Cluster cluster_;
  ReplayBackend backend_;
};

class ScenarioRerun final : public Rerun {
 public:
  ScenarioRerun(const Scenario& scenario, bool plain, std::vector<Observer*> observers)
      : scenario_(scenario), parts_(assemble(scenario)) {
    if (plain) use_plain_loop(parts_);
    cluster_ = std::make_unique<Cluster>(parts_.cluster, parts_.make_rules, std::move(parts_.router),
                                         std::move(observers));
    backend_ = std::make_unique<SimBackend>(*parts_.source, std::vector<const CostModel*>{parts_.cost.get()},
                                            parts_.sim);
    backend_->attach(*cluster_);
    if (parts_.warm) warm_caches(*parts_.warm, *cluster_);
  }

  const Scenario& scenario() const override { return scenario_; }
  Cluster& cluster() override { return *cluster_; }
  Backend& backend() override { return *backend_; }
  std::string trouble() const override { return ""; }

 private:
  const Scenario& scenario_;
  RunParts parts_;
  std::unique_ptr<Cluster> cluster_;
  std::unique_ptr<SimBackend> backend_;
};

[[noreturn]] void refuse_summary(const std::string& file) {
  throw ConfigError(Problem{"CFG302", SourcePlace{file, 0, 0}, "", "is no summary of a run",
                            "name the folder that `servetwin simulate --out` wrote"});
}

std::uint64_t digest_from(const nlohmann::json& value, const std::string& file) {
  std::uint64_t digest = 0;
  const std::string text = value.is_string() ? value.get<std::string>() : "";
  const auto end = std::from_chars(text.data(), text.data() + text.size(), digest, 16).ptr;
  if (text.size() != 16 || end != text.data() + text.size()) refuse_summary(file);
  return digest;
}

}  // namespace

std::string run_file(const std::string& folder, const std::string& name) {
  return (std::filesystem::path(folder) / name).string();
}

bool has_run_file(const std::string& folder, const std::string& name) {
  std::error_code failed;
  return std::filesystem::exists(run_file(folder, name), failed);
}

std::string journal_of(const std::string& path) {
  std::error_code failed;
  const bool is_folder = std::filesystem::is_directory(path, failed);
  const std::string file = is_folder ? run_file(path, "journal.jsonl.zst") : path;
  std::optional<Problem> problem = file_problem(file);
  if (!problem) return file;
  problem->remedy = is_folder ? "simulate it again with --journal"
                              : "name a journal, or the folder that `servetwin simulate --out` wrote";
  if (!is_folder && problem->code == "CFG001") problem->message = "no such file or folder";
  throw ConfigError(std::move(*problem));
}

std::unique_ptr<Rerun> replay_journal(JournalReader& reader, std::vector<Observer*> observers) {
  return std::make_unique<JournalRerun>(reader, std::move(observers));
}

std::unique_ptr<Rerun> simulate_again(const Scenario& scenario,
                                      bool plain,
                                      std::vector<Observer*> observers) {
  return std::make_unique<ScenarioRerun>(scenario, plain, std::move(observers));
}

std::unique_ptr<Rerun> run_again(const std::string& folder,
                                 const Scenario& scenario,
                                 std::vector<Observer*> observers) {
  if (!summary_of_run(folder).needs_journal) return simulate_again(scenario, true, std::move(observers));
  return replay_plainly(journal_of(folder), std::move(observers));
}

std::unique_ptr<Rerun> replay_plainly(const std::string& journal, std::vector<Observer*> observers) {
  return std::make_unique<JournalRerun>(std::make_unique<JournalReader>(journal), std::move(observers));
}

Scenario scenario_of_run(const std::string& folder) {
  std::error_code failed;
  if (!std::filesystem::exists(folder, failed)) {
    throw ConfigError(Problem{"CFG001", SourcePlace{folder, 0, 0}, "", "no such folder",
                              "name the folder that `servetwin simulate --out` wrote"});
  }
  if (!has_run_file(folder, "config.yaml")) {
    throw ConfigError(Problem{"CFG302", SourcePlace{folder, 0, 0}, "", "is no run: it has no config.yaml",
                              "name the folder that `servetwin simulate --out` wrote"});
  }
  return load_scenario(run_file(folder, "config.yaml"));
}

RunSummary summary_of_run(const std::string& folder) {
  const std::string file = run_file(folder, "summary.json");
  const auto json = nlohmann::json::parse(read_input(file), nullptr, false);
  if (!json.is_object() || !json.contains("digests") || !json["digests"].is_object()) refuse_summary(file);
  const nlohmann::json& digests = json["digests"];
  RunSummary summary;
  summary.digests.decisions = digest_from(digests.value("decisions", nlohmann::json()), file);
  summary.digests.timeline = digest_from(digests.value("timeline", nlohmann::json()), file);
  summary.complete = json.value("complete", nlohmann::json()) == true;
  const auto begins = [&](const char* pointer, const char* start) {
    const nlohmann::json::json_pointer at(pointer);
    return json.contains(at) && json[at].is_string() && json[at].get<std::string>().rfind(start, 0) == 0;
  };
  summary.needs_journal =
      begins("/provenance/cost_model", "live:") || begins("/provenance/workload", "clients");
  return summary;
}

}  // namespace servetwin
