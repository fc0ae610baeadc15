// Times between tokens are taken where all requests decode, so that a gap is one step of all of them.
#include "calibrate/endpoint/load_runner.h"

#include <algorithm>
#include <cmath>

#include "engine/base/quantile.h"

namespace servetwin {
namespace {

constexpr double kFewestTokens = 4;    // of a window in which all decode
constexpr std::size_t kSmoothed = 4;   // tokens on each side of a gap
constexpr std::size_t kJoinAfter = 4;  // parts of the others' answers
constexpr std::int64_t kWarmUpOutput = 8;

double ns_between(Duration from, Duration to) { return static_cast<double>(to_ns(to - from)); }

bool all_whole(const std::vector<TimedAnswer>& answers) {
  return std::all_of(answers.begin(), answers.end(),
                     [](const TimedAnswer& one) { return one.problem.empty(); });
}

// The marks within a time, ends included.
std::vector<TokenMark> marks_in(const TimedAnswer& answer, Duration from, Duration to) {
  std::vector<TokenMark> marks;
  std::copy_if(answer.marks.begin(), answer.marks.end(), std::back_inserter(marks),
               [&](const TokenMark& mark) { return mark.at >= from && mark.at <= to; });
  return marks;
}

// Of one answer: its gap that ends nearest to a time. Tokens around it count too, as if each had taken the
// usual time, so that one that came late does not spoil it.
struct GapAt {
  double gap = 0;
  double before = 0;   // the gap before it, as it was
  double usual = 0;    // the median of the others
  double context = 0;  // keys read in the step
};

double gap_of_token(const std::vector<TokenMark>& marks, std::size_t i) {
  return ns_between(marks[i - 1].at, marks[i].at) / (marks[i].tokens - marks[i - 1].tokens);
}

// Where mark `i` would stand by the mean of those from `from` to `to`.
double smoothed(const std::vector<TokenMark>& marks,
                std::size_t i,
                std::pair<std::size_t, std::size_t> range,
                double usual) {
  double sum = 0;
  for (std::size_t k = range.first; k <= range.second; ++k)
    sum += static_cast<double>(to_ns(marks[k].at)) + (marks[i].tokens - marks[k].tokens) * usual;
  return sum / static_cast<double>(range.second - range.first + 1);
}

std::optional<GapAt> gap_at(const TimedAnswer& answer, Duration at) {
  const auto& marks = answer.marks;
  if (marks.size() < 6) return std::nullopt;
  const auto distance = [at](const TokenMark& mark) { return std::abs(to_ns(mark.at - at)); };
  const auto nearest = std::min_element(
      marks.begin(), marks.end(), [&](const auto& a, const auto& b) { return distance(a) < distance(b); });
  const auto i = static_cast<std::size_t>(nearest - marks.begin());
  if (i < 2 || marks[i].tokens - marks[i - 1].tokens > 1.5) return std::nullopt;
  std::vector<double> others;
  for (std::size_t k = 1; k < marks.size(); ++k) {
    if (k != i) others.push_back(gap_of_token(marks, k));
  }
  GapAt found;
  found.usual = quantile(others, 0.5);
  found.before = gap_of_token(marks, i - 1);
  found.gap = smoothed(marks, i, {i, std::min(i + kSmoothed - 1, marks.size() - 1)}, found.usual) -
              smoothed(marks, i - 1, {i - std::min(i, kSmoothed), i - 1}, found.usual);
  found.context = static_cast<double>(answer.prompt_tokens) + marks[i - 1].tokens;
  if (static_cast<double>(distance(marks[i])) > 0.5 * found.gap) return std::nullopt;
  return found;
}

}  // namespace

std::optional<LoadRow> prompt_row(const TimedAnswer& answer, std::int64_t steps_of_prompt) {
  if (!answer.problem.empty()) return std::nullopt;
  LoadRow row;
  row.phase = LoadPhase::kPrompt;
  row.cached = answer.cached_tokens;
  row.prompt = answer.prompt_tokens - answer.cached_tokens;
  row.steps = steps_of_prompt;
  row.ns = ns_between(answer.sent, answer.first());
  return row.prompt > 0 ? std::optional(row) : std::nullopt;
}

std::optional<LoadRow> decode_row(const std::vector<TimedAnswer>& answers) {
  if (answers.empty() || !all_whole(answers)) return std::nullopt;
  Duration from{0};
  Duration to = Duration::max();
  for (const TimedAnswer& one : answers) {
    from = std::max(from, one.first());
    to = std::min(to, one.last());
  }
  LoadRow row;
  row.phase = LoadPhase::kDecode;
  row.requests = static_cast<std::int64_t>(answers.size());
  std::vector<double> gaps;
  for (const TimedAnswer& one : answers) {
    const std::vector<TokenMark> marks = marks_in(one, from, to);
    if (marks.size() < 2) return std::nullopt;
    const double tokens = marks.back().tokens - marks.front().tokens;
    if (tokens < kFewestTokens) return std::nullopt;
    gaps.push_back(ns_between(marks.front().at, marks.back().at) / tokens);
    row.context +=
        static_cast<double>(one.prompt_tokens) + (marks.front().tokens + marks.back().tokens - 1) / 2;
  }
  row.ns = quantile(gaps, 0.5);
  return row;
}

std::optional<LoadRow> mixed_row(const std::vector<TimedAnswer>& answers) {
  if (answers.size() < 2 || !all_whole(answers)) return std::nullopt;
  const TimedAnswer& joined = answers.back();
  LoadRow row;
  row.phase = LoadPhase::kMixed;
  row.requests = static_cast<std::int64_t>(answers.size()) - 1;
  row.cached = joined.cached_tokens;
  row.prompt = joined.prompt_tokens - joined.cached_tokens;
  std::vector<double> gaps;
  for (std::size_t i = 0; i + 1 < answers.size(); ++i) {
    const bool decodes = answers[i].first() < joined.sent && answers[i].last() > joined.first();
    const auto found = decodes ? gap_at(answers[i], joined.first()) : std::nullopt;
    if (!found) return std::nullopt;
    // A prompt that took several steps made the gap before longer as well.
    const double longer = found->gap - found->usual;
    if (found->before - found->usual > std::max(0.5 * longer, 0.25 * found->usual)) return std::nullopt;
    gaps.push_back(std::max(found->gap, found->usual));  // more work takes no less time
    row.context += found->context;
  }
  row.ns = quantile(gaps, 0.5);
  return row.prompt > 0 ? std::optional(row) : std::nullopt;
}

std::optional<double> LoadRunner::steps_counted() const {
  if (!server_.has_metrics()) return std::nullopt;
  const auto metrics = server_.metrics();
  return metrics ? metrics->steps : std::nullopt;
}

void LoadRunner::warm_up() {
  if (const auto metrics = server_.metrics(); metrics && metrics->block_size) {
    block_ = *metrics->block_size;
    block_known_ = true;
  }
  server_.ask({{8, kWarmUpOutput, 0}});
  const auto before = steps_counted();
  server_.ask({{8, kWarmUpOutput, 0}});
  const auto after = steps_counted();
  counts_steps_ = before && after && *after - *before >= kWarmUpOutput;
  if (counts_steps_) steps_besides_ = *after - *before - kWarmUpOutput;
}

PointResult LoadRunner::run(const LoadPoint& point) {
  std::vector<AskedLengths> asked(static_cast<std::size_t>(point.requests), {point.prompt, point.output, 0});
  if (point.joins > 0) asked.push_back({point.joins, 2, kJoinAfter});
  const bool alone = point.phase == LoadPhase::kPrompt;
  const auto before = alone && counts_steps_ ? steps_counted() : std::nullopt;
  const AnsweredLoad load = server_.ask(asked, !alone);
  PointResult result;
  result.retry_after = load.retry_after;
  for (const TimedAnswer& answer : load.answers) {
    if (result.problem.empty()) result.problem = answer.problem;
    cached_tokens_ += answer.cached_tokens;
    merged_tokens_ =
        merged_tokens_ || static_cast<double>(answer.marks.size()) < 0.8 * static_cast<double>(answer.tokens);
  }
  result.failed = !result.problem.empty();
  note_metrics(load);
  if (point.phase == LoadPhase::kCapacity) return run_capacity(point, load);
  if (!result.problem.empty()) return result;
  const auto add = [&](const std::optional<LoadRow>& row) {
    if (row) result.rows.push_back(*row);
  };
  if (alone) {
    const auto after = before ? steps_counted() : std::nullopt;
    const double steps =
        before && after ? *after - *before - steps_besides_ - static_cast<double>(point.output) + 1 : 1;
    add(prompt_row(load.answers.front(), std::clamp<std::int64_t>(std::llround(steps), 1, point.prompt)));
  }
  add(point.phase == LoadPhase::kMixed ? mixed_row(load.answers) : decode_row(load.answers));
  for (const LoadRow& row : usage_rows(load)) result.rows.push_back(row);
  if (result.rows.empty()) result.problem = "showed no time in which all decoded together";
  return result;
}

void LoadRunner::note_metrics(const AnsweredLoad& load) {
  for (const auto& [answer, metrics] : load.samples)
    most_waiting_ = std::max(most_waiting_, metrics.waiting.value_or(0));
  if (load.samples.empty()) return;
  const auto& first = load.samples.front().second.preemptions;
  const auto& last = load.samples.back().second.preemptions;
  if (first && last) preemptions_ += *last - *first;
}

std::vector<LoadRow> LoadRunner::usage_rows(const AnsweredLoad& load) const {
  std::vector<LoadRow> rows;
  for (const auto& [answer, metrics] : load.samples) {
    if (!metrics.kv_usage || *metrics.kv_usage <= 0) continue;
    const auto low = resident_tokens(load.answers, answer.sent, block_known_ ? block_ : 1);
    const auto high = resident_tokens(load.answers, answer.ended, block_);
    if (!low || !high || *low <= 0 || *high < *low) continue;
    LoadRow row;
    row.phase = LoadPhase::kCapacity;
    row.usage = *metrics.kv_usage;
    row.low_tokens = *low;
    row.high_tokens = *high;
    rows.push_back(row);
  }
  return rows;
}

PointResult LoadRunner::run_capacity(const LoadPoint& point, const AnsweredLoad& load) const {
  PointResult result;
  result.retry_after = load.retry_after;
  const WaveBounds bounds = wave_bounds(load.answers, block_);
  if (bounds.running == 0) {
    result.problem = load.answers.front().problem;
    result.failed = true;
    return result;
  }
  LoadRow row;
  row.phase = LoadPhase::kCapacity;
  row.requests = bounds.running;
  row.prompt = point.prompt;
  row.low_tokens = bounds.held;
  row.high_tokens = bounds.refused;
  result.rows = usage_rows(load);
  result.rows.push_back(row);
  return result;
}

}  // namespace servetwin
