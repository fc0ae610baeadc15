// Formulas live as long as the program, one of each.
#include "costmodels/operator_profile.h"

#include <algorithm>
#include <map>
#include <memory>

#include "engine/base/registry.h"
#include "engine/base/text.h"
#include "engine/base/unit_text.h"

namespace servetwin {
namespace {

[[noreturn]] void fail(const ConfigNode& node, const std::string& what) {
  throw ConfigError(
      Problem{kCodeBadValue, node.place, node.path, what, "write the profile again with servetwin fit"});
}

std::vector<double> numbers_of(const OperatorFit& fit, const std::vector<FormulaNumber>& described) {
  if (!fit.numbers.is_map()) fail(fit.numbers, "numbers of " + fit.formula + " are no map");
  std::vector<double> numbers;
  for (const FormulaNumber& one : described) {
    const ConfigNode* node = fit.numbers.find(one.name);
    if (node == nullptr) fail(fit.numbers, fit.formula + " has no number " + one.name);
    const auto value = parse_decimal(node->text);
    if (!value || !(*value.value > 0)) fail(*node, one.name + " is " + node->text + ", not above zero");
    numbers.push_back(*value.value);
  }
  if (fit.numbers.entries.size() != described.size())
    fail(fit.numbers, fit.formula + " has " + std::to_string(described.size()) + " numbers, not " +
                          std::to_string(fit.numbers.entries.size()));
  return numbers;
}

// Shared by all fits and threads: formulas hold no state.
const OperatorFormula& formula_named(const std::string& name) {
  static const auto kAll = [] {
    std::map<std::string, std::unique_ptr<OperatorFormula>> all;
    const auto& registry = Registry<OperatorFormula>::instance();
    for (const std::string& one : registry.names()) all[one] = registry.make(one, ConfigNode{});
    return all;
  }();
  const auto found = kAll.find(name);
  if (found != kAll.end()) return *found->second;
  throw ConfigError(unknown_name_problem(ConfigNode{}, name, Registry<OperatorFormula>::instance().names()));
}

}  // namespace

std::string CollectiveTimes::problem() const {
  if (bytes.size() != us.size() || bytes.size() < 2) return "needs as many times as sizes, two or more";
  if (!std::is_sorted(bytes.begin(), bytes.end()) ||
      std::adjacent_find(bytes.begin(), bytes.end()) != bytes.end())
    return "sizes are not ascending";
  return "";
}

double CollectiveTimes::at(double message_bytes) const {
  if (message_bytes <= bytes.front()) return us.front();
  std::size_t above = 1;
  while (above + 1 < bytes.size() && bytes[above] < message_bytes) ++above;
  const double part = (message_bytes - bytes[above - 1]) / (bytes[above] - bytes[above - 1]);
  return us[above - 1] + part * (us[above] - us[above - 1]);
}

GpuLimits OperatorProfile::gpu() const {
  return {limits.peak.value / 1e6, limits.memory_bandwidth.value / 1e6, limits.node_link.value / 1e6,
          static_cast<double>(limits.multiprocessors)};
}

const OperatorFit* OperatorProfile::find(const std::string& formula, const std::string& part) const {
  const auto found = std::find_if(fits.begin(), fits.end(), [&](const OperatorFit& fit) {
    return fit.formula == formula && fit.part == part;
  });
  return found == fits.end() ? nullptr : &*found;
}

GpuLimits limits_of(const DeviceSpec& device) {
  return {device.peak.bf16.value / 1e6, device.memory_bandwidth.value / 1e6, device.node_link.value / 1e6,
          static_cast<double>(device.multiprocessors)};
}

FittedOperator operator_of(const OperatorFit& fit, const GpuLimits& from, const GpuLimits& to) {
  const OperatorFormula& formula = formula_named(fit.formula);
  std::vector<double> numbers = numbers_of(fit, formula.numbers(from));
  const std::vector<OperatorFormula::Axes> tables = formula.tables();
  std::vector<std::vector<double>> corrections;
  if (fit.corrections.empty()) {
    for (const auto& axes : tables) corrections.emplace_back(num_knots(axes), 0.0);
  }
  for (const Correction& one : fit.corrections) corrections.push_back(one.values);
  if (corrections.size() != tables.size())
    fail(fit.numbers, fit.formula + " has " + std::to_string(tables.size()) + " tables");
  for (std::size_t i = 0; i < tables.size(); ++i) {
    if (corrections[i].size() != num_knots(tables[i]))
      fail(fit.numbers, "table " + std::to_string(i) + " of " + fit.formula + " has " +
                            std::to_string(num_knots(tables[i])) + " knots");
  }
  return {formula, scaled_numbers(formula, std::move(numbers), from, to), std::move(corrections), to};
}

OperatorFit fit_of(const std::string& formula,
                   const std::string& part,
                   const std::vector<double>& numbers,
                   const std::vector<std::vector<double>>& corrections,
                   const GpuLimits& device) {
  OperatorFit fit;
  fit.formula = formula;
  fit.part = part;
  const std::vector<FormulaNumber> described = formula_named(formula).numbers(device);
  fit.numbers.kind = ConfigNode::Kind::kMap;
  for (std::size_t i = 0; i < described.size(); ++i) {
    ConfigNode value;
    value.kind = ConfigNode::Kind::kScalar;
    value.text = format_number(rounded(numbers[i]));
    fit.numbers.entries.emplace_back(described[i].name, value);
  }
  constexpr int kTableDigits = 3;
  for (const std::vector<double>& values : corrections) {
    Correction correction;
    for (const double value : values) correction.values.push_back(rounded(value, kTableDigits));
    fit.corrections.push_back(std::move(correction));
  }
  return fit;
}

double rounded(double value, int digits) {
  if (value == 0) return 0;
  double scale = 1;
  const double size = value < 0 ? -value : value;
  double most = 1;
  for (int i = 0; i < digits; ++i) most *= 10;
  while (size * scale < most / 10) scale *= 10;
  while (size * scale >= most) scale /= 10;
  const double scaled = value * scale;
  const auto whole = static_cast<std::int64_t>(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
  // Through text, so that the result is the double nearest to the decimal.
  const std::string text = format_number(static_cast<double>(whole) / scale);
  return *parse_decimal(text).value;
}

}  // namespace servetwin
