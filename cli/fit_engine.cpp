// fit-engine: finds an engine's own times from published latencies, kernels and scheduler being given.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <set>
#include <string>
#include <vector>

#include "calibrate/operators/levenberg.h"
#include "cli/engine_numbers.h"
#include "cli/numbers.h"
#include "cli/verb.h"
#include "engine/metrics/output_file.h"
#include "scenarios/devices.h"
#include "scenarios/published/score.h"
#include "scenarios/published/served_case.h"
#include "scenarios/yaml_loader.h"

namespace servetwin {
namespace {

class FitEngine final : public Verb {
 public:
  using Verb::Verb;

  void declare(Arguments& arguments) override {
    arguments.word("START", start_, "The set to begin with: of the catalogue, or a file.");
    arguments.word("DATA", options_.data, "The folder that holds the published sets.");
    arguments.words("SET", sets_, "The published sets that the times are fitted to.");
    arguments.option("--only", "TEXT", options_.only, "Groups whose name holds TEXT; by default all.");
    arguments.option("--every", "N", every_, "Each N-th of their rows; by default all.");
    arguments.flag("--leave-out", leave_out_,
                   "Also fits without each group in turn and shows its error then.");
    arguments.option("--out", "FILE", out_, "Where the set is written.");
  }

  ExitCode run(Terminal& terminal) override {
    if (sets_.empty()) throw UsageError("servetwin fit-engine: name the published sets to fit to");
    options_.every = static_cast<int>(whole_option("fit-engine", "--every", every_, {1, 1'000'000}));
    const EngineSet start = find_engine_set(start_);
    const std::vector<PublishedFigure> before = predict(start);
    if (std::none_of(before.begin(), before.end(),
                     [](const auto& one) { return one.scored && one.predicted; })) {
      throw UsageError("servetwin fit-engine: none of the published runs asked for can be predicted");
    }
    const EngineSet fitted = fit(start, "", terminal);
    print(terminal, fitted);
    const std::vector<PublishedFigure> figures = predict(fitted);
    terminal.out(score_text("fitted", fitted.source, score(figures)) + '\n');
    if (leave_out_)
      terminal.out(
          score_text("each group left out", fitted.source, score(left_out(start, figures, terminal))));
    if (!out_.empty()) write_file(out_, write_yaml(write_params(fitted), "Made by servetwin fit-engine."));
    return ExitCode::kOk;
  }

 private:
  std::vector<PublishedFigure> predict(const EngineSet& set) const {
    const CaseFile file(write_yaml(write_params(set)), ".yaml");
    PublishedOptions options = options_;
    options.set.push_back("cost.engine=" + file.path());
    options.set.push_back("front_end.servers=64");
    options.set.push_back("front_end.per_request=" + std::to_string(set.front_end.per_request.count()) +
                          "ns");
    options.set.push_back("front_end.per_output=" + std::to_string(set.front_end.per_output.count()) + "ns");
    std::vector<PublishedFigure> all;
    for (const std::string& name : sets_) {
      const auto figures = Registry<PublishedSet>::instance().make(name, ConfigNode{})->predict(options);
      all.insert(all.end(), figures.begin(), figures.end());
    }
    return all;
  }

  // Figures of the group that is left out count nothing.
  EngineSet fit(const EngineSet& start, const std::string& without, Terminal& terminal) const {
    LeastSquares problem;
    problem.start = engine_logs(start);
    problem.pull.assign(problem.start.size(), 0.002);
    problem.delta = 0.1;
    problem.rounds = 6;
    problem.robust = 0.08;
    problem.residuals = [&](const std::vector<double>& x) {
      std::vector<double> out;
      for (const PublishedFigure& figure : predict(engine_of_logs(start, x))) {
        const bool counts = figure.scored && figure.predicted && figure.group != without;
        out.push_back(counts ? std::log(*figure.predicted / figure.measured) : 0);
      }
      return out;
    };
    problem.weights.assign(problem.residuals(problem.start).size(), 1.0);
    problem.told = [&](int round, double cost) {
      terminal.err(fmt::format("round {}: {:.5f}\n", round, cost));
    };
    return engine_of_logs(start, minimise(problem));
  }

  std::vector<PublishedFigure> left_out(const EngineSet& start,
                                        const std::vector<PublishedFigure>& figures,
                                        Terminal& terminal) const {
    std::set<std::string> groups;
    for (const PublishedFigure& figure : figures) groups.insert(figure.group);
    std::vector<PublishedFigure> out;
    for (const std::string& group : groups) {
      terminal.err("without " + group + '\n');
      for (PublishedFigure& figure : predict(fit(start, group, terminal))) {
        if (figure.group == group) out.push_back(std::move(figure));
      }
    }
    return out;
  }

  static void print(Terminal& terminal, const EngineSet& set) {
    terminal.out(write_yaml(write_params(set)) + '\n');
  }

  PublishedOptions options_;
  std::string start_;
  std::vector<std::string> sets_;
  std::string out_;
  std::string every_ = "1";
  bool leave_out_ = false;
};

const Registered<Verb, FitEngine> kFitEngine{"fit-engine",
                                             "Finds an engine's own times from published latencies."};

}  // namespace
}  // namespace servetwin
