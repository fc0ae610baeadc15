// Parts are fitted apart from each other: kernels of other formats and head sizes are other kernels.
#include "calibrate/operators/profile_fit.h"

#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "engine/base/registry.h"

namespace servetwin {
namespace {

// Below that a table of corrections would learn single shapes; latent attention has but one shape a head
// count.
constexpr std::size_t kFewestGroups = 10;
constexpr std::size_t kFewestLatentGroups = 5;

using Parts = std::map<std::pair<std::string, std::string>, std::vector<const OperatorSample*>>;

void fit_part(const std::string& formula_name,
              const std::string& part,
              const std::vector<const OperatorSample*>& samples,
              const GpuLimits& device,
              ProfileFit& out) {
  const auto formula = Registry<OperatorFormula>::instance().make(formula_name, ConfigNode{});
  std::set<std::string> groups;
  for (const OperatorSample* sample : samples) groups.insert(sample->group);
  FitSettings settings;
  const bool latent = formula_name.rfind("mla", 0) == 0;
  settings.corrections = groups.size() >= (latent ? kFewestLatentGroups : kFewestGroups);
  settings.ridge = formula_name.rfind("gemm", 0) == 0 ? 0.3 : 2;
  FittedPart done{formula_name, part, {}};
  if (groups.size() > 1) {
    std::vector<double> measured;
    for (const OperatorSample* sample : samples) measured.push_back(sample->us);
    done.left_out = error_of(measured, predicted_left_out(*formula, device, samples, settings));
  }
  const FormulaFit fit = fit_formula(*formula, device, samples, settings);
  OperatorFit written = fit_of(formula_name, part, fit.numbers, fit.corrections, device);
  written.samples = static_cast<std::int64_t>(samples.size());
  written.held_out_error = rounded(done.left_out.median, 3);
  out.profile.fits.push_back(std::move(written));
  out.parts.push_back(done);
}

using Curve = std::map<double, std::pair<double, int>>;  // bytes: sum of logarithms of times, and how many

// Sizes a factor of about four apart, and where the time jumps.
CollectiveTimes curve_of(const std::string& op,
                         const std::string& by,
                         std::int64_t ranks,
                         const Curve& curve) {
  CollectiveTimes times{op, by, ranks, {}, {}, {}};
  for (const auto& [bytes, sum] : curve) {
    const double us = std::exp(sum.first / sum.second);
    const bool is_last = bytes == curve.rbegin()->first;
    const bool jumps = !times.us.empty() && us > 3 * times.us.back();
    if (!times.bytes.empty() && bytes < 3.9 * times.bytes.back() && !is_last && !jumps) continue;
    times.bytes.push_back(bytes);
    times.us.push_back(rounded(us, 4));
  }
  return times;
}

void fit_collectives(const OperatorSamples& samples, ProfileFit& out) {
  std::map<std::tuple<std::string, std::string, std::int64_t, std::string>, Curve> curves;
  for (const CollectiveSample& one : samples.collectives) {
    auto& sum = curves[{one.op, one.by, one.ranks, one.device}][one.bytes];
    sum.first += std::log(one.us);
    ++sum.second;
  }
  std::vector<double> measured;
  std::vector<double> predicted;
  for (const auto& [key, curve] : curves) {
    const auto& [op, by, ranks, device] = key;
    for (int parity = 0; parity < 2; ++parity) {
      Curve seen;
      int index = 0;
      for (const auto& point : curve) {
        if (index++ % 2 == parity) seen.insert(point);
      }
      if (seen.size() < 2) continue;
      const CollectiveTimes left = curve_of(op, by, ranks, seen);
      for (const auto& [bytes, sum] : curve) {
        if (seen.count(bytes) != 0 || bytes < left.bytes.front() || bytes > left.bytes.back()) continue;
        measured.push_back(std::exp(sum.first / sum.second));
        predicted.push_back(left.at(bytes));
      }
    }
    out.profile.collectives.push_back(curve_of(op, by, ranks, curve));
    out.profile.collectives.back().device = device.empty() ? out.profile.device : device;
  }
  out.collectives = error_of(measured, predicted);
}

}  // namespace

ProfileFit fit_profile(const OperatorSamples& samples,
                       const DeviceSpec& device,
                       const std::function<void(const FittedPart&)>& told) {
  ProfileFit out;
  out.profile.device = device.name;
  out.profile.source = samples.source;
  out.profile.limits = {device.peak.bf16, device.memory_bandwidth, device.node_link, device.multiprocessors};
  Parts parts;
  for (const OperatorSample& sample : samples.operators)
    parts[{sample.formula, sample.part}].push_back(&sample);
  const GpuLimits limits = limits_of(device);
  for (const auto& [key, calls] : parts) {
    const auto formula = Registry<OperatorFormula>::instance().make(key.first, ConfigNode{});
    if (calls.size() < 4 * formula->numbers(limits).size()) continue;
    fit_part(key.first, key.second, calls, limits, out);
    told(out.parts.back());
  }
  fit_collectives(samples, out);
  return out;
}

}  // namespace servetwin
