// What is to be compared: variants of scenarios, each with a name, and the seeds that all of them share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/config_node.h"
#include "scenarios/scenario.h"
#include "sim/planner/comparison.h"

namespace servetwin {

struct ComparedScenario {
  std::string name;
  ConfigNode root;  // as load_extended() and everything that differs made it
  std::string file;

  // Throws ConfigError with every problem found.
  Scenario with_seed(std::int64_t seed) const;
};

struct ComparisonPlan {
  std::string name;
  std::vector<ComparedScenario> variants;  // two or more, names differ
  std::size_t baseline = 0;
  std::vector<std::int64_t> seeds;  // one or more, all different
  JudgeOptions options;
  std::vector<std::string> notes;  // what else differs than somebody may think, a sentence each

  std::size_t claims() const { return (variants.size() - 1) * options.judged.size(); }
};

// What the command line adds.
struct ComparisonOverrides {
  std::vector<std::string> set;   // key.path=value, of the base
  std::vector<std::string> vary;  // key.path=value,value…: a variant for each value, or choice of values
  std::string seeds;              // "10" or "1,2,3"
  std::string baseline;           // name of a variant
  std::string judge;              // measure,measure…
};

inline constexpr std::size_t kMostVariants = 64;

// `words`: one comparison file, or scenarios by file or shipped name, one of them at least with `vary`, else
// two. Throws ConfigError with everything that is wrong, wrong scenarios included.
ComparisonPlan plan_comparison(const std::vector<std::string>& words, const ComparisonOverrides& overrides);

// Whether the file, or shipped file of that name, says that it is a comparison; false where it cannot be
// read.
bool is_comparison(const std::string& name_or_path);

// The measures that `--judge` names, separated by commas. Throws ConfigError for an unknown one.
std::vector<std::size_t> judged_measures(const std::string& names);
// Those that are judged when nobody says; without SLOs, good_share is none.
std::vector<std::size_t> usual_measures(bool has_slo);

// A comparison's text alone; files that it names are looked for beside `file`.
ComparisonPlan parse_comparison(const std::string& text,
                                const std::string& file,
                                const ComparisonOverrides& overrides = {});

}  // namespace servetwin
