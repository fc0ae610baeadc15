// Usage is a share of all blocks, so that tokens held over usage are the capacity. Without it, what was held
// at once is a lower bound, and what kept one more request waiting an upper bound.
#include "calibrate/endpoint/kv_capacity.h"

#include <algorithm>

#include "engine/base/quantile.h"

namespace servetwin {
namespace {

constexpr double kLeastUsage = 0.005;  // below, one block's rounding is too much of it
constexpr std::size_t kFewestSamples = 3;
constexpr std::int64_t kMissedSteps = 4;  // a request that lets others go ahead so far is stalled

struct Stall {
  std::size_t answer;
  Duration from;  // its last token before
  Duration to;    // its first token after
};

double held_by(const TimedAnswer& answer, Duration at) {
  return static_cast<double>(answer.prompt_tokens) + answer.tokens_at(at) - 1;
}

std::int64_t marks_within(const TimedAnswer& answer, Duration from, Duration to) {
  return std::count_if(answer.marks.begin(), answer.marks.end(),
                       [&](const TokenMark& mark) { return mark.at > from && mark.at < to; });
}

// One wave of whole answers.
class Wave {
 public:
  Wave(std::vector<TimedAnswer> answers, std::int64_t block)
      : answers_(std::move(answers)), block_(static_cast<double>(block)) {
    std::vector<double> gaps;
    for (const TimedAnswer& one : answers_) {
      for (std::size_t i = 1; i < one.marks.size(); ++i)
        gaps.push_back(static_cast<double>(to_ns(one.marks[i].at - one.marks[i - 1].at)));
    }
    if (!gaps.empty()) gap_ = Duration{static_cast<std::int64_t>(quantile(gaps, 0.5))};
    find_stalls();
  }

  WaveBounds bounds() const {
    WaveBounds bounds;
    const auto look = [&](Duration at) {
      const auto [running, held] = held_at(at);
      bounds.running = std::max(bounds.running, running);
      bounds.held = std::max(bounds.held, held);
    };
    for (const TimedAnswer& one : answers_) {
      look(one.first());
      look(one.last());
    }
    for (const Stall& stall : stalls_) look(stall.from);
    bounds.refused = refused();
    return bounds;
  }

 private:
  void find_stalls() {
    for (std::size_t i = 0; i < answers_.size(); ++i) {
      const auto& marks = answers_[i].marks;
      for (std::size_t k = 1; k < marks.size(); ++k) {
        const Duration from = marks[k - 1].at;
        const Duration to = marks[k].at;
        if (to - from < kMissedSteps * gap_) continue;
        const bool others_go_on = std::any_of(
            answers_.begin(), answers_.end(),
            [&](const TimedAnswer& other) { return marks_within(other, from, to) >= kMissedSteps; });
        if (others_go_on) stalls_.push_back({i, from, to});
      }
    }
  }

  bool is_stalled(std::size_t answer, Duration at) const {
    return std::any_of(stalls_.begin(), stalls_.end(), [&](const Stall& stall) {
      return stall.answer == answer && at > stall.from && at < stall.to;
    });
  }

  // How many decode, and what they hold.
  std::pair<std::int64_t, double> held_at(Duration at) const {
    std::int64_t running = 0;
    double held = 0;
    for (std::size_t i = 0; i < answers_.size(); ++i) {
      if (answers_[i].first() > at || answers_[i].last() < at || is_stalled(i, at)) continue;
      ++running;
      held += held_by(answers_[i], at);
    }
    return {running, held};
  }

  double with_blocks(std::pair<std::int64_t, double> held) const {
    return held.second + static_cast<double>(held.first + 1) * block_;
  }

  // The least that was too much; 0 where all fitted.
  double refused() const {
    std::vector<double> all;
    for (const Stall& stall : stalls_) all.push_back(with_blocks(held_at(stall.from)));
    const TimedAnswer* late = nullptr;
    Duration first_end = Duration::max();
    for (const TimedAnswer& one : answers_) first_end = std::min(first_end, one.last());
    Duration last_start{0};
    for (const TimedAnswer& one : answers_) {
      if (one.first() > first_end) {
        if (late == nullptr || one.prompt_tokens < late->prompt_tokens) late = &one;
      } else {
        last_start = std::max(last_start, one.first());
      }
    }
    // Had the last of them only just begun, the next one might still have been computed.
    const bool waited = late != nullptr && first_end - last_start >= kMissedSteps * gap_;
    if (waited) {
      all.push_back(with_blocks(held_at(last_start)) + static_cast<double>(late->prompt_tokens));
    }
    return all.empty() ? 0 : *std::min_element(all.begin(), all.end());
  }

  std::vector<TimedAnswer> answers_;
  double block_;
  Duration gap_{0};
  std::vector<Stall> stalls_;
};

std::optional<KvCapacity> from_usage(const std::vector<LoadRow>& rows) {
  std::vector<double> lows;
  std::vector<double> highs;
  std::vector<double> middles;
  for (const LoadRow& row : rows) {
    if (row.phase != LoadPhase::kCapacity || row.usage < kLeastUsage) continue;
    lows.push_back(row.low_tokens / row.usage);
    highs.push_back(row.high_tokens / row.usage);
    middles.push_back((lows.back() + highs.back()) / 2);
  }
  if (lows.size() < kFewestSamples) return std::nullopt;
  return KvCapacity{
      quantile(middles, 0.5), quantile(lows, 0.05), quantile(highs, 0.95),
      "tokens held over the usage that the server tells, " + std::to_string(lows.size()) + " times"};
}

std::optional<KvCapacity> from_waves(const std::vector<LoadRow>& rows) {
  std::int64_t most_running = 0;
  for (const LoadRow& row : rows) {
    if (row.phase != LoadPhase::kCapacity || row.usage == 0)
      most_running = std::max(most_running, row.requests);
  }
  KvCapacity capacity;
  for (const LoadRow& row : rows) {
    if (row.phase != LoadPhase::kCapacity || row.usage > 0) continue;
    capacity.low = std::max(capacity.low, row.low_tokens);
    if (row.high_tokens > 0 && row.requests < most_running)
      capacity.high = std::min(capacity.high.value_or(row.high_tokens), row.high_tokens);
  }
  if (capacity.low == 0) return std::nullopt;
  if (capacity.high) capacity.high = std::max(*capacity.high, capacity.low);
  capacity.tokens = capacity.high ? (capacity.low + *capacity.high) / 2 : capacity.low;
  capacity.evidence = capacity.high ? "what was held at once, and what kept others waiting"
                                    : "what was held at once; nobody waited for room in the cache";
  return capacity;
}

}  // namespace

std::optional<double> resident_tokens(const std::vector<TimedAnswer>& answers,
                                      Duration at,
                                      std::int64_t block) {
  double tokens = 0;
  for (const TimedAnswer& one : answers) {
    if (!one.problem.empty() || one.sent > at || one.last() < at) continue;
    if (one.first() > at) return std::nullopt;
    const auto held = one.prompt_tokens + static_cast<std::int64_t>(one.tokens_at(at));
    tokens += static_cast<double>((held + block - 1) / block * block);
  }
  return tokens;
}

WaveBounds wave_bounds(const std::vector<TimedAnswer>& answers, std::int64_t block) {
  std::vector<TimedAnswer> whole;
  std::copy_if(answers.begin(), answers.end(), std::back_inserter(whole),
               [](const TimedAnswer& one) { return one.problem.empty(); });
  return whole.empty() ? WaveBounds{} : Wave(std::move(whole), block).bounds();
}

std::optional<KvCapacity> kv_capacity(const std::vector<LoadRow>& rows) {
  const std::optional<KvCapacity> waves = from_waves(rows);
  std::optional<KvCapacity> usage = from_usage(rows);
  if (!usage) return waves;
  if (waves && (waves->low > 1.1 * *usage->high || (waves->high && *waves->high < 0.9 * usage->low))) {
    usage->evidence += "; who had to wait does not agree with that";
  }
  return usage;
}

}  // namespace servetwin
