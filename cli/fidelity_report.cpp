// Every figure of the simulation stands beside what live runs differ by among themselves.
#include "cli/fidelity_report.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/calibration.h"

namespace servetwin {
namespace {

using Json = nlohmann::ordered_json;

std::array<int, 4> count_verdicts(const std::vector<FidelityCase>& cases) {
  std::array<int, 4> counts{};
  for (const FidelityCase& one : cases) {
    for (const FidelityRow& row : one.rows) ++counts[static_cast<std::size_t>(verdict_of(row))];
  }
  return counts;
}

Json json_of(const FidelityRow& row) {
  Json out = {{"name", row.name},           {"unit", row.unit},     {"live", row.live},
              {"simulated", row.simulated}, {"error", row.error()}, {"spread", row.spread()}};
  out["bound"] = row.bound ? Json(*row.bound) : Json(nullptr);
  out["allowed"] = row.bound ? Json(row.allowed()) : Json(nullptr);
  out["verdict"] = row.bound ? Json(to_string(verdict_of(row))) : Json(nullptr);
  return out;
}

Json json_of(const RegionError& error) {
  return {{"steps", error.steps},
          {"median", error.median},
          {"p90", error.p90},
          {"low", error.low},
          {"high", error.high}};
}

Json json_of(const FidelityCase& one) {
  Json rows = Json::array();
  for (const FidelityRow& row : one.rows) rows.push_back(json_of(row));
  return {{"name", one.name},
          {"figures", rows},
          {"step_errors",
           {{"decode", json_of(one.step_errors.decode)},
            {"prefill", json_of(one.step_errors.prefill)},
            {"mixed", json_of(one.step_errors.mixed)},
            {"together", one.steps_together}}},
          {"equal_steps", {{"replayed", one.equal_replayed}, {"predicted", one.equal_predicted}}}};
}

}  // namespace

std::string fidelity_table(const FidelityCase& one) {
  std::string text = one.name + '\n';
  text += fmt::format("  {:<22}{:>10}{:>9}{:>12}{:>9}   {}\n", "", "live", "spread", "simulated", "error",
                      "allowed");
  for (const FidelityRow& row : one.rows) {
    text += fmt::format("  {:<22}{:>10.4g}{:>7.1f} %{:>12.4g}{:>+7.1f} %", row.name + ' ' + row.unit,
                        row.mean(), 100 * row.spread(), row.simulated, 100 * row.error());
    if (row.bound) text += fmt::format("   {:.1f} %  {}", 100 * row.allowed(), to_string(verdict_of(row)));
    text += '\n';
  }
  text += "\n  error of the time simulated for each live step:\n";
  text += error_table(one.step_errors);
  text += fmt::format("  all together {:+.1f} %\n", 100 * one.steps_together);
  text += fmt::format("  equal steps: {:.2f} % with the live run's durations, {:.1f} % with predicted ones\n",
                      100 * one.equal_replayed, 100 * one.equal_predicted);
  return text;
}

std::string fidelity_sentence(const std::vector<FidelityCase>& cases) {
  const auto counts = count_verdicts(cases);
  const auto of = [&](FidelityVerdict verdict) { return counts[static_cast<std::size_t>(verdict)]; };
  return fmt::format(
      "{} of {} judged figures are within their bounds, {} off, {} too noisy to judge",
      of(FidelityVerdict::kWithin),
      of(FidelityVerdict::kWithin) + of(FidelityVerdict::kOff) + of(FidelityVerdict::kTooNoisy),
      of(FidelityVerdict::kOff), of(FidelityVerdict::kTooNoisy));
}

std::string fidelity_json(const std::vector<FidelityCase>& cases, const std::string& profile) {
  Json out = {{"schema_version", 1}, {"profile", profile}};
  out["cases"] = Json::array();
  for (const FidelityCase& one : cases) out["cases"].push_back(json_of(one));
  return out.dump(2) + '\n';
}

bool is_off(const std::vector<FidelityCase>& cases) {
  const bool differs =
      std::any_of(cases.begin(), cases.end(), [](const FidelityCase& one) { return one.equal_replayed < 1; });
  return differs || count_verdicts(cases)[static_cast<std::size_t>(FidelityVerdict::kOff)] > 0;
}

}  // namespace servetwin
