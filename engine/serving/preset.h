// Presets: a real engine's scheduler as a named tuple of rules with its default settings.
#pragma once

#include <string>

#include "engine/base/config_node.h"
#include "engine/serving/config.h"
#include "engine/serving/rules.h"

namespace servetwin {

inline constexpr const char* kNoPredictor = "none";

// Which rule plays which part, by registered name.
struct RuleNames {
  std::string waiting_order = "fcfs";
  std::string batch = "running_first";
  std::string admission = "optimistic";
  std::string victim = "last_admitted";
  std::string pressure = "recompute";
  std::string yield = "never";
  std::string predictor = kNoPredictor;
  std::string step = "continuous";

  template <class Visitor>
  void fields(Visitor& v) {
    v("waiting_order", waiting_order, "Who is looked at first among the waiting.");
    v("batch", batch, "How much of a request one step computes.");
    v("admission", admission, "Whether the head of the queue may enter.");
    v("victim", victim, "Whose KV is taken back when blocks run out.");
    v("pressure", pressure, "What becomes of a victim's KV.");
    v("yield", yield, "Whether running requests give way to a waiting one.");
    v("predictor", predictor, "Who predicts output lengths, for orders that need it.");
    v("step", step, "What forms the steps: a loop with the other rules, or an engine's own.");
  }
};

class Preset {
 public:
  virtual ~Preset() = default;
  // Defaults of that engine; sizes without one (num_blocks, max_model_len) stay unset.
  virtual EngineConfig engine() const = 0;
  virtual RuleNames rules() const = 0;
  // Whether that engine gives back KV which lies behind the windows of a model's layers.
  virtual bool passes_windows() const { return false; }
};

// Makes one rule of each kind. `params` holds parameters under the rule's own name and may be empty; the
// predictor is added to `context`. Throws ConfigError for an unknown name and for a rule that lacks
// something.
RuleSet make_rules(const RuleNames& names, const ConfigNode& params = {}, RuleContext context = {});

}  // namespace servetwin
