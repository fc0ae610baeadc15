// An additive recurrence of the generalised golden ratio, begun where the seed says.
#include "calibrate/measure/planned_step.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace servetwin {
namespace {

enum Axis : std::size_t { kKind, kDecodes, kContext, kSkew, kPrefills, kTokens, kBefore, kFinishing, kAxes };

using Point = std::array<double, kAxes>;

constexpr double kDecodeShare = 0.4;
constexpr double kPrefillShare = 0.25;

// Roberts' sequence: multiples of the powers of 1 / phi, phi being the root of x^(d+1) = x + 1.
Point point(std::uint64_t seed, std::int64_t n) {
  double phi = 1.5;
  for (int i = 0; i < 60; ++i) phi = std::pow(1 + phi, 1.0 / (kAxes + 1));
  Point at{};
  const auto index = static_cast<double>(n + static_cast<std::int64_t>(seed % 1024) * 7919);
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    const double place = 0.5 + index / std::pow(phi, static_cast<double>(axis + 1));
    at[axis] = place - std::floor(place);
  }
  return at;
}

// From `low` to `high`, each factor of two as likely as another.
std::int64_t log_between(std::int64_t low, std::int64_t high, double u) {
  if (high <= low) return low;
  const double ratio = (static_cast<double>(high) + 1) / static_cast<double>(low);
  return std::min(high, static_cast<std::int64_t>(static_cast<double>(low) * std::pow(ratio, u)));
}

std::int64_t blocks_of(std::int64_t tokens, const StepSpace& space) {
  return (tokens + space.block_size - 1) / space.block_size;
}

// Adds rows while there is room in every respect.
class StepMaker {
 public:
  explicit StepMaker(const StepSpace& space) : space_(space), blocks_(space.blocks), tokens_(space.tokens) {}

  // Contexts rise from row to row, by `skew` of their mean to either side.
  void add_decodes(std::int64_t count, double mean, double skew) {
    for (std::int64_t i = 0; i < count; ++i) {
      const double place = count == 1 ? 0 : 2.0 * static_cast<double>(i) / static_cast<double>(count - 1) - 1;
      const auto context = static_cast<std::int64_t>(mean * (1 + skew * place));
      add({std::clamp<std::int64_t>(context, 1, space_.context - 1), 1, true, true});
    }
  }

  // The n-th row of prefill takes `tokens` more, `before` of its largest context being there already.
  void add_prefill(std::int64_t tokens, double before, bool finishes) {
    tokens = std::min({tokens, tokens_, space_.context});
    const auto most = static_cast<double>(space_.context - tokens);
    add({static_cast<std::int64_t>(before * most), tokens, finishes, false});
  }

  std::int64_t room() const { return tokens_; }
  PlannedStep take() { return std::move(step_); }

 private:
  void add(PlannedRow row) {
    const std::int64_t most = blocks_ * space_.block_size;
    if (row.context + row.tokens > most)
      row.context = std::max<std::int64_t>(row.decode ? 1 : 0, most - row.tokens);
    row.tokens = std::min(row.tokens, most - row.context);
    const bool fits = row.tokens > 0 && row.tokens <= tokens_ &&
                      static_cast<std::int64_t>(step_.rows.size()) < space_.sequences;
    if (!fits) return;
    blocks_ -= blocks_of(row.context + row.tokens, space_);
    tokens_ -= row.tokens;
    step_.rows.push_back(row);
  }

  const StepSpace& space_;
  std::int64_t blocks_;
  std::int64_t tokens_;
  PlannedStep step_;
};

std::int64_t most_decodes(const StepSpace& space) {
  return std::min({space.sequences, space.tokens, space.blocks});
}

constexpr std::int64_t kNumCorners = 6;

// One row and all rows, short and long; a whole budget of prompt from nothing and behind a long context.
PlannedStep corner(const StepSpace& space, std::int64_t n) {
  StepMaker maker(space);
  const std::int64_t all = most_decodes(space);
  const double longest = static_cast<double>(space.context - 1);
  const double fair = static_cast<double>(space.blocks / all * space.block_size - 1);
  switch (n) {
    case 0:
      maker.add_decodes(1, 1, 0);
      break;
    case 1:
      maker.add_decodes(1, longest, 0);
      break;
    case 2:
      maker.add_decodes(all, 1, 0);
      break;
    case 3:
      maker.add_decodes(all, std::min(fair, longest), 0);
      break;
    case 4:
      for (std::int64_t i = 0; i < space.sequences && maker.room() > 0; ++i)
        maker.add_prefill(maker.room(), 0, true);
      break;
    default:
      maker.add_prefill(std::max<std::int64_t>(1, space.context / 2), 1, false);
      break;
  }
  return maker.take();
}

void add_prefills(StepMaker& maker, const StepSpace& space, std::int64_t most_rows, const Point& at) {
  const std::int64_t tokens = log_between(1, maker.room(), at[kTokens]);
  const std::int64_t rows =
      std::min(tokens, log_between(1, std::min<std::int64_t>(most_rows, 8), at[kPrefills]));
  const double before = std::max(0.0, 2 * at[kBefore] - 1);  // half of them from nothing
  for (std::int64_t i = 0; i < rows; ++i) {
    const std::int64_t share = tokens / rows + (i < tokens % rows ? 1 : 0);
    maker.add_prefill(std::min(share, space.context), before,
                      static_cast<double>(i) < at[kFinishing] * static_cast<double>(rows));
  }
}

}  // namespace

StepShape shape_of(const PlannedStep& step) {
  StepShape shape;
  for (const PlannedRow& row : step.rows) {
    shape.tokens += row.tokens;
    shape.sequences += 1;
    shape.max_context = std::max(shape.max_context, row.context + row.tokens);
    shape.sampled_rows += row.sampled ? 1 : 0;
    if (row.decode) {
      shape.decode_sequences += 1;
      shape.decode_context += row.context + row.tokens;
    } else {
      shape.prefill_sequences += 1;
      shape.prefill_tokens += row.tokens;
      shape.prefill_q_context += row.tokens * row.context;
      shape.prefill_q_squared += row.tokens * row.tokens;
    }
  }
  return shape;
}

PlannedStep planned_step(const StepSpace& space, std::uint64_t seed, std::int64_t n) {
  if (n < kNumCorners) return corner(space, n);
  const Point at = point(seed, n - kNumCorners);
  const bool decodes = at[kKind] < kDecodeShare || at[kKind] >= kDecodeShare + kPrefillShare;
  const bool prefills = at[kKind] >= kDecodeShare;
  StepMaker maker(space);
  std::int64_t rows = 0;
  if (decodes) {
    const std::int64_t most = most_decodes(space) - (prefills ? 1 : 0);
    if (most > 0) {
      rows = log_between(1, most, at[kDecodes]);
      const std::int64_t fair = space.blocks / rows * space.block_size - 1;
      const auto longest = std::min(space.context - 1, std::max<std::int64_t>(1, fair));
      maker.add_decodes(rows, 1 + std::pow(at[kContext], 1.5) * static_cast<double>(longest - 1), at[kSkew]);
    }
  }
  if (prefills || rows == 0) add_prefills(maker, space, space.sequences - rows, at);
  return maker.take();
}

}  // namespace servetwin
