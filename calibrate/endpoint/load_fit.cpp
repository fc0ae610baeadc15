// All rows are one system of equations: a time to the first token is the front end's and one or more steps',
// a gap between tokens is one step. What a prompt costs beside others tells the two apart.
#include "calibrate/endpoint/load_fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "calibrate/fit/nnls.h"
#include "calibrate/fit/step_fit.h"
#include "engine/base/error.h"
#include "engine/base/quantile.h"
#include "engine/base/rng.h"

namespace servetwin {
namespace {

constexpr double kLoadWorthwhile = 0.98;  // a price must lower the error to this share
constexpr std::size_t kMostLoadKnots = 3;
constexpr std::size_t kLoadFolds = 6;
constexpr std::uint32_t kResamplings = 200;
constexpr std::uint64_t kResamplingSeed = 1;

double real(std::int64_t value) { return static_cast<double>(value); }

// Where the price of a token changes. All other prices are always there.
using Knots = std::set<std::int64_t>;

// The shape of the row's step; of a prompt alone, of one of its steps.
StepShape shape_of_row(const LoadRow& row) {
  StepShape shape;
  if (row.phase != LoadPhase::kPrompt) {
    shape.decode_sequences = row.requests;
    shape.decode_context = std::llround(row.context);
  }
  if (row.phase != LoadPhase::kDecode) {
    shape.prefill_sequences = 1;
    shape.prefill_tokens = row.prompt;
    shape.prefill_q_context = row.prompt * row.cached;
    shape.prefill_q_squared = row.prompt * row.prompt;
  }
  shape.sequences = shape.decode_sequences + shape.prefill_sequences;
  shape.sampled_rows = shape.sequences;
  shape.tokens = shape.decode_sequences + (shape.prefill_tokens + row.steps - 1) / row.steps;
  shape.max_context = std::max(
      row.prompt + row.cached,
      row.requests > 0 ? shape.decode_context / std::max<std::int64_t>(row.requests, 1) : std::int64_t{0});
  return shape;
}

std::vector<double> features_of_row(const LoadRow& row, const Knots& knots) {
  const StepShape shape = shape_of_row(row);
  const bool alone = row.phase == LoadPhase::kPrompt;
  const double steps = alone ? real(row.steps) : 1.0;
  const double tokens = alone ? real(row.prompt) / steps : real(shape.tokens);  // of each step
  std::vector<double> x{alone ? 1.0 : 0.0, alone ? real(row.prompt + row.cached) : 0.0, steps,
                        real(shape.decode_context), real(prefill_pairs(shape))};
  double from = 0;
  for (const std::int64_t knot : knots) {
    x.push_back(steps * std::clamp(tokens - from, 0.0, real(knot) - from));
    from = real(knot);
  }
  x.push_back(steps * std::max(0.0, tokens - from));
  x.push_back(steps * real(shape.sequences));
  x.push_back(shape.prefill_sequences > 0 ? steps : 0.0);
  return x;
}

// The prices' names, in the order of the features.
std::vector<std::string> names_of(const Knots& knots) {
  std::vector<std::string> names{"front_end_ns", "front_end_token_ns", "base_ns", "context_ns", "pair_ns"};
  for (std::size_t i = 0; i <= knots.size(); ++i)
    names.push_back(knots.empty() ? "token_ns" : "token_ns[" + std::to_string(i) + ']');
  names.insert(names.end(), {"row_ns", "prefill_step_ns"});
  return names;
}

void set_prices(LoadFit& fit, const std::vector<double>& coefficients, const Knots& knots) {
  auto next = coefficients.begin();
  const auto take = [&next] { return six_digits(*next++); };
  fit.front_end_ns = take();
  fit.front_end_token_ns = take();
  fit.terms.base_ns = take();
  fit.terms.context_ns = take();
  fit.terms.pair_ns = take();
  fit.terms.token_knots.assign(knots.begin(), knots.end());
  for (std::size_t i = 0; i <= knots.size(); ++i) fit.terms.token_ns.push_back(take());
  fit.terms.row_ns = take();
  fit.terms.prefill_step_ns = take();
}

std::vector<Observation> observations_of(const std::vector<LoadRow>& rows, const Knots& knots) {
  std::vector<Observation> all;
  for (const LoadRow& row : rows) all.push_back({features_of_row(row, knots), row.ns, 1 / (row.ns * row.ns)});
  return all;
}

// For each row what a fit without the rows of its kind of step says of it, kinds being dealt to `folds`.
std::vector<double> predict_unseen(const std::vector<LoadRow>& rows, const Knots& knots, std::size_t folds) {
  const std::vector<Observation> observations = observations_of(rows, knots);
  std::map<std::int64_t, std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < rows.size(); ++i) groups[shape_group(shape_of_row(rows[i]))].push_back(i);
  folds = std::min(folds, groups.size());
  std::vector<double> predicted(rows.size());
  for (std::size_t fold = 0; fold < folds; ++fold) {
    std::vector<Observation> rest;
    std::size_t number = 0;
    for (const auto& [group, members] : groups) {
      if (number++ % folds == fold) continue;
      for (const std::size_t i : members) rest.push_back(observations[i]);
    }
    const std::vector<double> fit = solve_robustly(rest);
    number = 0;
    for (const auto& [group, members] : groups) {
      if (number++ % folds != fold) continue;
      for (const std::size_t i : members) predicted[i] = dot(observations[i].x, fit);
    }
  }
  return predicted;
}

double unseen_error(const std::vector<LoadRow>& rows, const Knots& knots) {
  const std::vector<double> predicted = predict_unseen(rows, knots, kLoadFolds);
  double sum = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) sum += std::min(1.0, std::abs(predicted[i] / rows[i].ns - 1));
  return sum / static_cast<double>(rows.size());
}

// Knots that others have made idle are left out.
Knots without_idle(const std::vector<LoadRow>& rows, Knots knots) {
  constexpr double kNothing = 1e-4;
  const double error = unseen_error(rows, knots);
  for (const std::int64_t knot : Knots(knots)) {
    Knots fewer = knots;
    fewer.erase(knot);
    if (unseen_error(rows, fewer) * kLoadWorthwhile <= error + kNothing) knots = fewer;
  }
  return knots;
}

Knots chosen_knots(const std::vector<LoadRow>& rows, std::int64_t most_tokens) {
  Knots best;
  double error = unseen_error(rows, best);
  while (best.size() < kMostLoadKnots) {
    const double before = error;
    const Knots old = best;
    for (std::int64_t knot = 2; knot < most_tokens; knot *= 2) {
      Knots larger = old;
      if (!larger.insert(knot).second) continue;
      const double candidate = unseen_error(rows, larger);
      if (candidate >= error) continue;
      error = candidate;
      best = larger;
    }
    if (error >= before * kLoadWorthwhile) return without_idle(rows, old);
  }
  return without_idle(rows, best);
}

// Rows are drawn anew within each phase, so that none of them is ever without rows.
std::vector<PriceInterval> intervals_of(const std::vector<LoadRow>& rows,
                                        const std::vector<Observation>& observations,
                                        const Knots& knots) {
  std::array<std::vector<std::size_t>, 4> phases;
  for (std::size_t i = 0; i < rows.size(); ++i) phases[static_cast<std::size_t>(rows[i].phase)].push_back(i);
  const std::vector<std::string> names = names_of(knots);
  std::vector<std::vector<double>> drawn(names.size());
  for (std::uint32_t round = 0; round < kResamplings; ++round) {
    NormalEquations sum(names.size());
    std::uint32_t draw = 0;
    for (const std::vector<std::size_t>& members : phases) {
      for (std::size_t i = 0; i < members.size(); ++i) {
        const double unit = draw_unit({kResamplingSeed, Stream::kResampling, round}, draw++);
        sum.add(observations[members[static_cast<std::size_t>(unit * static_cast<double>(members.size()))]]);
      }
    }
    const std::vector<double> fit = solve_nonnegative(sum);
    for (std::size_t i = 0; i < fit.size(); ++i) drawn[i].push_back(fit[i]);
  }
  std::vector<PriceInterval> intervals;
  for (std::size_t i = 0; i < names.size(); ++i) {
    intervals.push_back(
        {names[i], six_digits(quantile(drawn[i], 0.025)), six_digits(quantile(drawn[i], 0.975))});
  }
  return intervals;
}

void widen(ProfileDomain& domain, const StepShape& shape) {
  domain.tokens = std::max(domain.tokens, shape.tokens);
  domain.sequences = std::max(domain.sequences, shape.sequences);
  domain.context = std::max(domain.context, shape.max_context);
  domain.decode_context = std::max(domain.decode_context, shape.decode_context);
  domain.pairs = std::max(domain.pairs, prefill_pairs(shape));
}

void check_rows(const std::vector<LoadRow>& rows, const std::string& source) {
  const auto fail = [&](const std::string& message) {
    throw ConfigError(Problem{"CAL001", SourcePlace{source, 0, 0}, "", message, "give more time: --budget"});
  };
  for (const LoadPhase phase : {LoadPhase::kPrompt, LoadPhase::kDecode, LoadPhase::kMixed}) {
    const bool has =
        std::any_of(rows.begin(), rows.end(), [&](const auto& row) { return row.phase == phase; });
    if (!has) fail(std::string("holds no row of the phase ") + to_string(phase) + ", which a fit needs");
  }
  const std::size_t fewest = names_of({}).size() + 1;
  if (rows.size() < fewest) {
    fail("holds " + std::to_string(rows.size()) + " loads, and a fit needs " + std::to_string(fewest) +
         " at least");
  }
}

// Rows of the same load as one: the median of their times, for a time is often late and never early.
std::vector<LoadRow> merged_loads(const std::vector<LoadRow>& rows) {
  std::map<std::pair<LoadPhase, std::int64_t>, std::vector<LoadRow>> by_load;
  for (const LoadRow& row : rows) {
    if (row.phase != LoadPhase::kCapacity && row.ns > 0) by_load[{row.phase, row.point}].push_back(row);
  }
  std::vector<LoadRow> merged;
  for (const auto& [load, same] : by_load) {
    std::vector<double> times;
    double context = 0;
    for (const LoadRow& row : same) {
      times.push_back(row.ns);
      context += row.context;
    }
    merged.push_back(same.front());
    merged.back().ns = quantile(times, 0.5);
    merged.back().context = context / static_cast<double>(same.size());
  }
  return merged;
}

}  // namespace

LoadFit fit_load(const std::vector<LoadRow>& all, const std::string& source) {
  const std::vector<LoadRow> rows = merged_loads(all);
  check_rows(rows, source);
  LoadFit fit;
  fit.rows = static_cast<std::int64_t>(rows.size());
  std::vector<MeasuredStep> steps;
  for (const LoadRow& row : rows) {
    steps.push_back({shape_of_row(row), row.ns});
    widen(fit.domain, steps.back().shape);
  }
  const Knots knots = chosen_knots(rows, fit.domain.tokens);
  std::vector<Observation> observations = observations_of(rows, knots);
  set_prices(fit, solve_robustly(observations), knots);
  fit.intervals = intervals_of(rows, observations, knots);
  fit.error = errors_of(steps, predict_unseen(rows, knots, rows.size()));
  return fit;
}

double predicted_ns(const LoadFit& fit, const LoadRow& row) {
  const Knots knots(fit.terms.token_knots.begin(), fit.terms.token_knots.end());
  std::vector<double> all{fit.front_end_ns, fit.front_end_token_ns, fit.terms.base_ns, fit.terms.context_ns,
                          fit.terms.pair_ns};
  all.insert(all.end(), fit.terms.token_ns.begin(), fit.terms.token_ns.end());
  all.insert(all.end(), {fit.terms.row_ns, fit.terms.prefill_step_ns});
  return dot(features_of_row(row, knots), all);
}

double load_repeat_difference(const std::vector<LoadRow>& rows) {
  std::map<std::pair<LoadPhase, std::int64_t>, double> last;
  std::vector<double> differences;
  for (const LoadRow& row : rows) {
    if (row.phase == LoadPhase::kCapacity) continue;
    const auto [before, is_first] = last.try_emplace({row.phase, row.point}, row.ns);
    if (is_first) continue;
    differences.push_back(2 * std::abs(before->second - row.ns) / (before->second + row.ns));
    before->second = row.ns;
  }
  return differences.empty() ? 0 : quantile(differences, 0.5);
}

}  // namespace servetwin
