// One of two engines; for a session's files both are runs of a scenario.
#include "cli/served_engine.h"

#include <utility>

#include "cli/verb.h"
#include "engine/base/unit_text.h"
#include "scenarios/live_world.h"
#include "scenarios/served_scenario.h"
#include "scenarios/simulated_engine.h"

namespace servetwin {

void ServedEngine::declare(Arguments& arguments) {
  arguments.option("--simulate", "SCENARIO", scenario_name_, "The deployment that answers, simulated.");
  arguments.repeated("--set", "KEY=VALUE", overrides_.set, "Sets one value, as for simulate.");
  model_.declare(arguments);
  places_.declare(arguments);
  arguments.option("--speed", "X", speed_, "Simulated seconds in a second; by default 1.");
  arguments.option("--served-model-name", "NAME", name_, "The model's name for clients.");
}

void ServedEngine::check() const {
  if (scenario_name_.empty() == !model_.is_given()) {
    throw UsageError("servetwin serve: give either --model MODEL or --simulate SCENARIO");
  }
  if (model_.is_given() && (!overrides_.set.empty() || speed_ != "1")) {
    throw UsageError("servetwin serve: --set and --speed go with --simulate, not with --model");
  }
  if (!model_.is_given() && model_.has_options()) {
    throw UsageError("servetwin serve: KV cache, sizes, threads and seed are those of the scenario");
  }
  static_cast<void>(speed());
}

double ServedEngine::speed() const {
  const auto speed = parse_decimal(speed_);
  if (!speed || *speed.value < 1e-3 || *speed.value > 1e4) {
    throw UsageError("servetwin serve: --speed takes a number from 0.001 to 10000, not " + speed_);
  }
  return *speed.value;
}

std::unique_ptr<CompletionEngine> ServedEngine::start(AnswerListener& listener,
                                                      ServedFiles& files,
                                                      Terminal& terminal) {
  return model_.is_given() ? live(listener, files, terminal) : simulated(listener, files, terminal);
}

std::unique_ptr<CompletionEngine> ServedEngine::simulated(AnswerListener& listener,
                                                          ServedFiles& files,
                                                          Terminal& terminal) {
  places_.take("serve", 0);
  terminal.err(places_.text());
  scenario_ = load_scenario(scenario_name_, overrides_);
  if (files.are_wanted()) {
    const RunParts parts = assemble(*scenario_);
    files.open(*scenario_, {parts.cost->describe(), SimulatedWorld().profile_hash(parts),
                            to_string(parts.cost->evidence())});
  }
  SimulatedEngineOptions options;
  options.name = name_;
  options.speed = speed();
  options.observers = files.observers();
  options.journal = files.journal();
  return std::make_unique<SimulatedEngine>(*scenario_, listener, std::move(options));
}

std::unique_ptr<CompletionEngine> ServedEngine::live(AnswerListener& listener,
                                                     ServedFiles& files,
                                                     Terminal& terminal) {
  LiveEngineOptions options = completed(model_.options(name_));
  places_.take("serve", static_cast<std::size_t>(options.ranks * options.threads));
  options.cpus = places_.compute();
  if (files.are_wanted()) {
    scenario_ = served_scenario(options);
    files.open(*scenario_, {describe_live(scenario_->model.name, options.kv_dtype,
                                          {options.ranks, options.threads, options.layout}),
                            "", "measured"});
  }
  options.observers = files.observers();
  options.journal = files.journal();
  auto engine = std::make_unique<LiveEngine>(std::move(options), listener);
  terminal.err(ServedModel::describe(*engine) + engine->ranks_text() + places_.text());
  return engine;
}

}  // namespace servetwin
