// Durations as given in a file: by step number, or by the request of a one-request step (queueing theory's tests).
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>

#include "costmodels/cost_model.h"
#include "costmodels/profile_text.h"
#include "engine/base/check.h"
#include "engine/base/error.h"
#include "engine/base/registry.h"
#include "engine/base/text.h"
#include "engine/base/unit_text.h"

namespace servetwin {
namespace {

struct DurationTable {
  bool by_request = false;
  std::map<std::uint64_t, Duration> rows;
  std::optional<Duration> otherwise;  // the row "*"
  Evidence evidence = Evidence::kAnalytic;
};

// Reads lines "key,microseconds"; a comment line "# evidence: measured" says that a device took these times.
class TableReader {
 public:
  explicit TableReader(const std::string& file) : file_(file) {}

  DurationTable read() {
    std::ifstream in(file_);
    if (!in) fail("cannot be read", "spec.cost.durations names a CSV file, relative to the scenario's folder");
    std::string text;
    bool has_header = false;
    for (line_ = 1; std::getline(in, text); ++line_) {
      if (text.rfind("# evidence: measured", 0) == 0) table_.evidence = Evidence::kMeasured;
      if (text.empty() || text.front() == '#') continue;
      const auto cells = split_csv_line(text);
      if (cells.size() != 2) fail("has " + std::to_string(cells.size()) + " cells, not 2", kForm);
      if (has_header) {
        add_row(cells[0], cells[1]);
      } else {
        read_header(cells[0], cells[1]);
      }
      has_header = true;
    }
    line_ = 0;
    if (table_.rows.empty() && !table_.otherwise) fail("holds no duration", kForm);
    return table_;
  }

 private:
  static constexpr const char* kForm = "step,duration_us or request,duration_us; a row * serves all others";

  void read_header(const std::string& key, const std::string& unit) {
    const bool known = (key == "step" || key == "request") && unit == "duration_us";
    if (!known) fail("has the header " + key + "," + unit, kForm);
    table_.by_request = key == "request";
  }

  void add_row(const std::string& key, const std::string& microseconds) {
    const auto duration = parse_duration(microseconds + "us");
    if (!duration) fail("\"" + microseconds + "\": " + duration.message, duration.remedy);
    if (*duration.value < Duration::zero()) fail("\"" + microseconds + "\" is negative", "");
    if (key == "*") {
      if (table_.otherwise) fail("holds a second row *", "");
      table_.otherwise = *duration.value;
      return;
    }
    const auto number = parse_integer(key);
    if (!number) fail("\"" + key + "\": " + number.message, kForm);
    if (*number.value < 0) fail("\"" + key + "\" is negative", "");
    const bool is_new = table_.rows.emplace(static_cast<std::uint64_t>(*number.value), *duration.value).second;
    if (!is_new) fail("holds " + key + " twice", "");
  }

  [[noreturn]] void fail(const std::string& message, const std::string& remedy) const {
    throw ConfigError(Problem{kCodeBadValue, {file_, line_, 0}, "", message, remedy});
  }

  std::string file_;
  int line_ = 0;
  DurationTable table_;
};

class Replay final : public CostModel {
 public:
  struct Params {
    std::string durations;

    template <class Visitor>
    void fields(Visitor& v) {
      v("durations", durations, "CSV file: step,duration_us or request,duration_us; a row * serves all others.",
        kRequired);
    }
  };

  Replay(const Params& params, const CostContext& context)
      : file_((std::filesystem::path(context.folder) / params.durations).string()), table_(TableReader(file_).read()) {}

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
    OpCost& whole = cost.ops[static_cast<std::size_t>(OpClass::kHost)];
    whole.ns = static_cast<double>(to_ns(cost.total));
    whole.evidence = table_.evidence;
    whole.bound = Bound::kOverhead;
    return cost;
  }

  std::optional<ContextLine> decode_line(const StepShape& /*shape*/) const override {
    if (!table_.rows.empty()) return std::nullopt;
    return ContextLine{static_cast<double>(to_ns(*table_.otherwise)), 0.0};
  }

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
