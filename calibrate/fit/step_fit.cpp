// Terms are chosen one after the other, as long as they lower the error of steps that are left out.
#include "calibrate/fit/step_fit.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "calibrate/fit/nnls.h"
#include "engine/base/error.h"

namespace servetwin {
namespace {

constexpr double kWorthwhile = 0.98;  // a term must lower the error to this share
constexpr std::size_t kMostKnots = 8;
constexpr std::size_t kFolds = 6;

double number(std::int64_t value) { return static_cast<double>(value); }

// Which terms there are. Base, tokens, keys and pairs always are.
struct TermChoice {
  std::set<std::int64_t> knots;
  bool rows = false;
  bool sampled = false;
  bool prefill = false;  // a regime of its own: step, row and token
};

std::vector<double> features(const StepShape& shape, const TermChoice& choice) {
  std::vector<double> x{1, number(shape.decode_context), number(prefill_pairs(shape))};
  std::int64_t from = 0;
  for (const std::int64_t knot : choice.knots) {
    x.push_back(number(std::clamp<std::int64_t>(shape.tokens - from, 0, knot - from)));
    from = knot;
  }
  x.push_back(number(std::max<std::int64_t>(0, shape.tokens - from)));
  if (choice.rows) x.push_back(number(shape.sequences));
  if (choice.sampled) x.push_back(number(shape.sampled_rows));
  if (choice.prefill) {
    x.insert(x.end(), {shape.prefill_sequences > 0 ? 1.0 : 0.0, number(shape.prefill_sequences),
                       number(shape.prefill_tokens)});
  }
  return x;
}

StepTerms terms_of(const std::vector<double>& coefficients, const TermChoice& choice) {
  StepTerms terms;
  auto next = coefficients.begin();
  const auto take = [&next] { return six_digits(*next++); };
  terms.base_ns = take();
  terms.context_ns = take();
  terms.pair_ns = take();
  terms.token_knots.assign(choice.knots.begin(), choice.knots.end());
  for (std::size_t i = 0; i <= choice.knots.size(); ++i) terms.token_ns.push_back(take());
  if (choice.rows) terms.row_ns = take();
  if (choice.sampled) terms.sampled_ns = take();
  if (choice.prefill) {
    terms.prefill_step_ns = take();
    terms.prefill_row_ns = take();
    terms.prefill_token_ns = take();
  }
  return terms;
}

// A step's error counts relative to what it takes.
Observation observation(const MeasuredStep& step, const TermChoice& choice) {
  return {features(step.shape, choice), step.ns, 1 / (step.ns * step.ns)};
}

// Observations by group, and fits that leave some of the groups out.
class Groups {
 public:
  Groups(const std::vector<MeasuredStep>& steps, const std::vector<Observation>& observations)
      : terms_(observations.front().x.size()) {
    for (std::size_t i = 0; i < steps.size(); ++i)
      sums_.try_emplace(shape_group(steps[i].shape), terms_).first->second.add(observations[i]);
  }

  // For every group its number's fit, groups being dealt to `folds` that are left out together.
  std::map<std::int64_t, std::vector<double>> left_out(std::size_t folds) const {
    folds = std::min(folds, sums_.size());
    std::map<std::int64_t, std::vector<double>> fits;
    for (std::size_t fold = 0; fold < folds; ++fold) {
      NormalEquations rest(terms_);
      std::size_t i = 0;
      for (const auto& [group, sum] : sums_) {
        if (i++ % folds != fold) rest += sum;
      }
      const std::vector<double> fit = solve_nonnegative(rest);
      i = 0;
      for (const auto& [group, sum] : sums_) {
        if (i++ % folds == fold) fits[group] = fit;
      }
    }
    return fits;
  }

 private:
  std::size_t terms_;
  std::map<std::int64_t, NormalEquations> sums_;
};

std::vector<double> predict_left_out(const std::vector<MeasuredStep>& steps,
                                     const std::vector<Observation>& observations,
                                     std::size_t folds) {
  const auto fits = Groups(steps, observations).left_out(folds);
  std::vector<double> predicted;
  for (std::size_t i = 0; i < steps.size(); ++i)
    predicted.push_back(dot(observations[i].x, fits.at(shape_group(steps[i].shape))));
  return predicted;
}

// Mean magnitude of the relative error of steps left out; one step counts at most as wholly wrong.
double held_out_error(const std::vector<MeasuredStep>& steps, const TermChoice& choice) {
  std::vector<Observation> observations;
  for (const MeasuredStep& step : steps) observations.push_back(observation(step, choice));
  const std::vector<double> predicted = predict_left_out(steps, observations, kFolds);
  double sum = 0;
  for (std::size_t i = 0; i < steps.size(); ++i)
    sum += std::min(1.0, std::abs(predicted[i] / steps[i].ns - 1));
  return sum / number(static_cast<std::int64_t>(steps.size()));
}

std::vector<TermChoice> larger_choices(const TermChoice& choice, std::int64_t most_tokens) {
  std::vector<TermChoice> all;
  const auto add = [&](auto change) {
    all.push_back(choice);
    change(all.back());
  };
  if (!choice.prefill) add([](TermChoice& c) { c.prefill = true; });
  if (!choice.rows) add([](TermChoice& c) { c.rows = true; });
  if (!choice.sampled) add([](TermChoice& c) { c.sampled = true; });
  for (std::int64_t knot = 2; knot < most_tokens && choice.knots.size() < kMostKnots; knot *= 2) {
    if (choice.knots.count(knot) == 0) add([knot](TermChoice& c) { c.knots.insert(knot); });
  }
  return all;
}

TermChoice chosen_terms(const std::vector<MeasuredStep>& steps, std::int64_t most_tokens) {
  TermChoice best;
  double error = held_out_error(steps, best);
  while (true) {
    const double before = error;
    TermChoice better = best;
    for (const TermChoice& choice : larger_choices(best, most_tokens)) {
      if (features(steps.front().shape, choice).size() > steps.size()) continue;
      const double candidate = held_out_error(steps, choice);
      if (candidate >= error) continue;
      error = candidate;
      better = choice;
    }
    if (error >= before * kWorthwhile) return best;
    best = better;
  }
}

[[noreturn]] void too_few(const std::string& source, std::size_t have, std::size_t need, const char* what) {
  throw ConfigError(Problem{"CAL001", SourcePlace{source, 0, 0}, "",
                            "holds " + std::to_string(have) + ' ' + what + ", and a fit needs " +
                                std::to_string(need) + " at least",
                            "give more time to measure"});
}

}  // namespace

StepRegion region_of(const StepShape& shape) {
  if (shape.prefill_sequences == 0) return StepRegion::kDecode;
  return shape.decode_sequences == 0 ? StepRegion::kPrefill : StepRegion::kMixed;
}

const char* to_string(StepRegion region) {
  constexpr std::array<const char*, kNumStepRegions> kNames{"decode", "prefill", "mixed"};
  return kNames[static_cast<std::size_t>(region)];
}

std::int64_t shape_group(const StepShape& shape) {
  const auto power = [](std::int64_t value) {
    std::int64_t bits = 0;
    for (; value > 0; value /= 2) ++bits;
    return bits;
  };
  return static_cast<std::int64_t>(region_of(shape)) * 10'000 + power(shape.decode_sequences) * 100 +
         power(shape.prefill_tokens);
}

double StepFit::median_error() const {
  return std::max({error.decode.median, error.prefill.median, error.mixed.median});
}

StepFit fit_steps(const std::vector<MeasuredStep>& steps, const std::string& source) {
  StepFit fit;
  std::set<std::int64_t> groups;
  for (const MeasuredStep& step : steps) {
    groups.insert(shape_group(step.shape));
    ProfileDomain& domain = fit.domain;
    domain.tokens = std::max(domain.tokens, step.shape.tokens);
    domain.sequences = std::max(domain.sequences, step.shape.sequences);
    domain.context = std::max(domain.context, step.shape.max_context);
    domain.decode_context = std::max(domain.decode_context, step.shape.decode_context);
    domain.pairs = std::max(domain.pairs, prefill_pairs(step.shape));
  }
  const std::size_t fewest = features({}, {}).size() + 1;
  if (steps.size() < fewest) too_few(source, steps.size(), fewest, "steps");
  if (groups.size() < 2) too_few(source, groups.size(), 2, "groups of steps");
  const TermChoice choice = chosen_terms(steps, fit.domain.tokens);
  std::vector<Observation> observations;
  for (const MeasuredStep& step : steps) observations.push_back(observation(step, choice));
  fit.terms = terms_of(solve_robustly(observations), choice);
  fit.error = errors_of(steps, predict_left_out(steps, observations, groups.size()));
  return fit;
}

HeldOutErrors errors_of(const std::vector<MeasuredStep>& steps, const std::vector<double>& predicted) {
  std::array<std::vector<double>, kNumStepRegions> signed_errors;
  for (std::size_t i = 0; i < steps.size(); ++i)
    signed_errors[static_cast<std::size_t>(region_of(steps[i].shape))].push_back(predicted[i] / steps[i].ns -
                                                                                 1);
  const auto region = [](const std::vector<double>& errors) {
    RegionError result;
    if (errors.empty()) return result;
    std::vector<double> sizes;
    for (const double error : errors) sizes.push_back(std::abs(error));
    result.steps = static_cast<std::int64_t>(errors.size());
    result.median = six_digits(quantile(sizes, 0.5));
    result.p90 = six_digits(quantile(sizes, 0.9));
    result.low = six_digits(quantile(errors, 0.05));
    result.high = six_digits(quantile(errors, 0.95));
    return result;
  };
  return {region(signed_errors[0]), region(signed_errors[1]), region(signed_errors[2])};
}

double device_ns(const StepProfile& profile, const StepShape& shape) {
  return profile.step.ns(shape) + profile.step.context_ns * number(shape.decode_context);
}

HostTerms fit_host(const std::vector<MeasuredStep>& steps, const std::string& source) {
  constexpr std::size_t kTerms = 4;
  if (steps.size() <= kTerms) too_few(source, steps.size(), kTerms + 1, "live steps");
  std::vector<Observation> observations;
  for (const auto& [shape, ns] : steps) {
    observations.push_back(
        {{1.0, number(shape.sequences), number(shape.new_sequences), number(shape.sampled_rows)}, ns, 1.0});
  }
  const std::vector<double> fit = solve_robustly(observations);
  return {six_digits(fit[0]), six_digits(fit[1]), six_digits(fit[2]), six_digits(fit[3])};
}

double six_digits(double value) {
  std::array<char, 32> text{};
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::scientific, 5).ptr;
  double rounded = 0;
  std::from_chars(text.data(), end, rounded);
  return rounded;
}

}  // namespace servetwin
