// Durations as given in a file: by step, or by the request of a one-request step (as queueing tests do).
#include <filesystem>
#include <string>

#include "costmodels/cost_model.h"
#include "costmodels/duration_table.h"
#include "costmodels/profile_text.h"
#include "engine/base/check.h"
#include "engine/base/registry.h"
#include "engine/base/unit_text.h"

namespace servetwin {
namespace {

class Replay final : public CostModel {
 public:
  struct Params {
    std::string durations;

    template <class Visitor>
    void fields(Visitor& v) {
      v("durations", durations,
        "CSV file: step,duration_us or request,duration_us; a row * serves all others.", kRequired);
    }
  };

  Replay(const Params& params, const CostContext& context)
      : file_((std::filesystem::path(context.folder) / params.durations).string()),
        table_(read_durations(file_)) {}

  Duration step_time(const StepInput& input) const override {
    const std::uint64_t key = table_.by_request ? raw(input.first_request) : raw(input.step);
    const auto found = table_.rows.find(key);
    if (found != table_.rows.end()) return found->second;
    CHECK_INVARIANT(table_.otherwise.has_value(), file_, table_.by_request, key);
    return *table_.otherwise;
  }

  StepCost step(const StepInput& input) const override {
    StepCost cost;
    cost.total = step_time(input);
    OpCost& whole = cost.ops[static_cast<std::size_t>(OpClass::kLaunch)];
    whole.ns = static_cast<double>(to_ns(cost.total));
    whole.evidence = table_.evidence;
    whole.bound = Bound::kOverhead;
    return cost;
  }

  std::optional<ContextLine> decode_line(const StepShape& /*shape*/) const override {
    if (!table_.rows.empty()) return std::nullopt;
    return ContextLine{static_cast<double>(to_ns(*table_.otherwise)), 0.0};
  }

  bool keyed_by_step() const override { return true; }
  Evidence evidence() const override { return table_.evidence; }

  std::uint64_t profile_hash() const override {
    std::string text = table_.by_request ? "replay request" : "replay step";
    for (const auto& [key, duration] : table_.rows) {
      text += ' ' + std::to_string(key) + '=' + std::to_string(to_ns(duration));
    }
    if (table_.otherwise) text += " *=" + std::to_string(to_ns(*table_.otherwise));
    return profile_hash_of(text);
  }

  std::string describe() const override {
    return "replay of " + std::to_string(table_.rows.size()) + " durations by " +
           (table_.by_request ? "request" : "step") + " from " + file_ +
           (table_.otherwise ? ", all others " + format_duration(*table_.otherwise) : "");
  }

 private:
  std::string file_;
  DurationTable table_;
};

const Registered<CostModel, Replay> kReplay{"replay", "Durations read from a file, by step or by request."};

}  // namespace
}  // namespace servetwin
