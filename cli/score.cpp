// score: predicts published runs of real engines and says how far off it is.
#include "scenarios/published/score.h"

#include <fmt/format.h>
#include <string>
#include <vector>

#include "cli/numbers.h"
#include "cli/verb.h"
#include "engine/base/params.h"
#include "engine/metrics/output_file.h"

namespace servetwin {
namespace {

class Score final : public Verb {
 public:
  using Verb::Verb;

  void declare(Arguments& arguments) override {
    arguments.word("DATA", options_.data, "The folder that holds the published sets, a folder each.");
    arguments.words("SET", sets_, "Which sets, one or more.");
    arguments.repeated("--set", "KEY=VALUE", options_.set, "Sets one value in every scenario.");
    arguments.option("--csv", "FILE", csv_, "Also writes every figure to FILE.");
    arguments.option("--only", "TEXT", options_.only, "Groups whose name holds TEXT; by default all.");
    arguments.option("--every", "N", every_, "Each N-th of their rows; by default all.");
    arguments.option("--seeds", "N", seeds_, "Runs with other draws to average over; by default 1.");
  }

  ExitCode run(Terminal& terminal) override {
    options_.seeds = static_cast<int>(whole_option("score", "--seeds", seeds_, {1, 100}));
    options_.every = static_cast<int>(whole_option("score", "--every", every_, {1, 1'000'000}));
    std::vector<PublishedFigure> all;
    bool any = false;
    for (const std::string& name : names()) {
      const auto set = Registry<PublishedSet>::instance().make(name, ConfigNode{});
      const std::vector<PublishedFigure> figures = set->predict(options_);
      terminal.out(score_text(name, set->source(), score(figures)) + '\n');
      for (const std::string& refusal : refusals(figures)) terminal.err("not predicted: " + refusal + '\n');
      for (const PublishedFigure& figure : figures) any = any || figure.predicted;
      all.insert(all.end(), figures.begin(), figures.end());
    }
    if (all.empty()) throw UsageError("servetwin score: no group's name holds " + options_.only);
    if (!csv_.empty()) write_file(csv_, figures_csv(all));
    if (any) return ExitCode::kOk;
    terminal.err("verdict: nothing could be predicted\n");
    return ExitCode::kVerdictFailed;
  }

 private:
  std::vector<std::string> names() const {
    const std::vector<std::string> known = Registry<PublishedSet>::instance().names();
    for (const std::string& name : sets_) {
      if (Registry<PublishedSet>::instance().find(name) == nullptr)
        throw ConfigError(unknown_name_problem(ConfigNode{}, name, known));
    }
    return sets_;
  }

  static std::vector<std::string> refusals(const std::vector<PublishedFigure>& figures) {
    std::vector<std::string> texts;
    for (const PublishedFigure& figure : figures) {
      if (figure.predicted || (!texts.empty() && texts.back() == figure.condition + ": " + figure.note))
        continue;
      texts.push_back(figure.condition + ": " + figure.note);
    }
    return texts;
  }

  PublishedOptions options_;
  std::vector<std::string> sets_;
  std::string csv_;
  std::string seeds_ = "1";
  std::string every_ = "1";
};

const Registered<Verb, Score> kScore{"score", "Predicts published runs of real engines and shows the error."};

}  // namespace
}  // namespace servetwin
