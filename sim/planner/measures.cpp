// From the rows of two runs to numbers: means and quantiles of each side and of the paired differences.
#include "sim/planner/measures.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>

#include "engine/base/text.h"
#include "sim/planner/resampling.h"

namespace servetwin {
namespace {

constexpr std::array<int, kStatistics - 1> kPercents = {50, 90, 99};
constexpr double kMillisecond = 1e6;

std::vector<MeasureInfo> make_measures() {
  const std::array<std::array<const char*, 2>, kNumLatencies> names = {{{"ttft", "TTFT"},
                                                                        {"tpot", "TPOT"},
                                                                        {"e2e", "E2E"},
                                                                        {"head_of_line", "head of line"},
                                                                        {"front_end", "front end"},
                                                                        {"queue", "queue"},
                                                                        {"preempted", "preempted"},
                                                                        {"in_batch", "in the batch"}}};
  std::vector<MeasureInfo> all;
  for (const auto& [name, label] : names) {
    for (const char* statistic : {"mean", "p50", "p90", "p99"}) {
      all.push_back({std::string(name) + '.' + statistic, std::string(label) + ' ' + statistic, "ms"});
    }
  }
  const std::vector<MeasureInfo> of_runs = {
      {"itl.mean", "ITL mean", "ms", Better::kLess},
      {"itl.p99", "ITL p99", "ms", Better::kLess},
      {"good_share", "requests that meet their SLO", "share", Better::kMore},
      {"completed_share", "requests completed", "share", Better::kMore},
      {"goodput", "goodput", "req/s", Better::kMore},
      {"requests_per_s", "throughput", "req/s", Better::kMore},
      {"output_tokens_per_s", "output throughput", "tokens/s", Better::kMore},
      {"preemptions", "preemptions", "", Better::kLess},
      {"recomputed_tokens", "tokens recomputed", "", Better::kLess},
      {"swapped_blocks", "blocks swapped", "", Better::kNeither},
      {"kv_usage", "KV cache in use", "share", Better::kNeither},
      {"hit_rate", "prefix hit rate", "share", Better::kMore},
      {"jain", "Jain index over tenants", "index", Better::kMore}};
  all.insert(all.end(), of_runs.begin(), of_runs.end());
  return all;
}

// Type 7, of ascending values.
double quantile(const std::vector<std::int64_t>& sorted, int percent) {
  const std::size_t last = sorted.size() - 1;
  const std::size_t scaled = last * static_cast<std::size_t>(percent);
  const std::size_t index = scaled / 100;
  const double low = static_cast<double>(sorted[index]);
  const double high = static_cast<double>(sorted[std::min(index + 1, last)]);
  return low + (high - low) * static_cast<double>(scaled % 100) / 100;
}

double mean(const std::vector<std::int64_t>& values) {
  Int128 sum = 0;
  for (const std::int64_t value : values) sum += value;
  return ratio_of(sum, static_cast<std::int64_t>(values.size()));
}

void put_statistics(std::vector<std::int64_t>& values, Latency latency, Measured& out) {
  std::size_t at = mean_of(latency);
  out[at++] = mean(values) / kMillisecond;
  std::sort(values.begin(), values.end());
  for (const int percent : kPercents) out[at++] = quantile(values, percent) / kMillisecond;
}

PairedDifference paired(std::vector<std::int64_t>& differences) {
  PairedDifference out;
  const auto count = static_cast<double>(differences.size());
  out.mean = mean(differences) / kMillisecond;
  std::sort(differences.begin(), differences.end());
  out.p10 = quantile(differences, 10) / kMillisecond;
  out.p50 = quantile(differences, 50) / kMillisecond;
  out.p90 = quantile(differences, 90) / kMillisecond;
  const auto zero = std::lower_bound(differences.begin(), differences.end(), 0);
  const auto above = std::upper_bound(zero, differences.end(), 0);
  out.less = static_cast<double>(zero - differences.begin()) / count;
  out.more = static_cast<double>(differences.end() - above) / count;
  return out;
}

// The tokens of each tenant's completed requests by the time all of its requests were in the system: the
// rate at which it is served while it asks for something.
std::optional<double> fairness(const RunRows& run) {
  std::map<TenantId, std::pair<std::int64_t, Int128>> tenants;
  for (const RequestRow& row : run.rows) {
    if (!row.measured || !row.end_state) continue;
    auto& [tokens, time] = tenants[row.tenant];
    if (row.finished()) tokens += (row.prompt + row.outputs).value;
    time += to_ns(row.sojourn);
  }
  std::vector<double> rates;
  for (const auto& [tenant, served] : tenants) {
    if (served.second > 0) {
      rates.push_back(static_cast<double>(served.first) / static_cast<double>(served.second));
    }
  }
  return rates.size() < 2 ? std::nullopt : jain_index(rates);
}

struct Group {
  std::string name;
  std::string label;
  std::function<bool(const RequestRow&)> has;
};

std::vector<std::int64_t> quarters(const RunRows& run, Tokens RequestRow::*length) {
  std::vector<std::int64_t> lengths;
  for (const RequestRow& row : run.rows) {
    if (row.measured && row.finished()) lengths.push_back((row.*length).value);
  }
  std::sort(lengths.begin(), lengths.end());
  std::vector<std::int64_t> bounds;
  for (std::size_t part = 1; part < 4 && !lengths.empty(); ++part) {
    const std::int64_t bound = lengths[(lengths.size() * part - 1) / 4];
    if (bound < lengths.back() && (bounds.empty() || bounds.back() < bound)) bounds.push_back(bound);
  }
  return bounds;
}

void add_lengths(std::vector<Group>& groups,
                 const std::string& what,
                 const std::vector<std::int64_t>& bounds,
                 Tokens RequestRow::*length) {
  for (std::size_t i = 0; i <= bounds.size() && !bounds.empty(); ++i) {
    const std::int64_t above = i == 0 ? -1 : bounds[i - 1];
    const bool is_last = i == bounds.size();
    const std::int64_t to = is_last ? std::numeric_limits<std::int64_t>::max() : bounds[i];
    std::string range = "of " + format_grouped(above + 1) + " to " + format_grouped(to);
    if (i > 0 && above + 1 == to) range = "of " + format_grouped(to);
    if (i == 0) range = "of up to " + format_grouped(to);
    if (is_last) range = "over " + format_grouped(above);
    groups.push_back(
        {what + " q" + std::to_string(i + 1), what + "s " + range + " tokens",
         [=](const RequestRow& row) { return (row.*length).value > above && (row.*length).value <= to; }});
  }
}

std::vector<Group> groups_of(const RunRows& run, const RowPairs& pairs, const LengthBounds& bounds) {
  std::vector<Group> groups = {{"all", "all requests", [](const RequestRow&) { return true; }}};
  for (std::size_t c = 0; c < run.classes.size() && run.classes.size() > 1; ++c) {
    const ClassId id{static_cast<std::uint8_t>(c)};
    const std::string name = "class " + run.classes[c];
    groups.push_back({name, name, [id](const RequestRow& row) { return row.traffic_class == id; }});
  }
  std::map<TenantId, int> tenants;
  for (const auto& pair : pairs) ++tenants[run.rows[pair.first].tenant];
  for (const auto& [id, count] : tenants) {
    if (tenants.size() == 1 || tenants.size() > kMostTenants) break;
    const std::string name = "tenant " + std::to_string(raw(id));
    groups.push_back({name, name, [tenant = id](const RequestRow& row) { return row.tenant == tenant; }});
  }
  add_lengths(groups, "prompt", bounds.prompts, &RequestRow::prompt);
  add_lengths(groups, "output", bounds.outputs, &RequestRow::outputs);
  return groups;
}

void put_latency(GroupValues& values,
                 Latency latency,
                 const ComparedRun& base,
                 const ComparedRun& own,
                 const RowPairs& members) {
  std::vector<std::int64_t> before;
  std::vector<std::int64_t> after;
  std::vector<std::int64_t> differences;
  for (const auto& [i, j] : members) {
    const auto& a = base.rows.rows[i].latency(latency);
    const auto& b = own.rows.rows[j].latency(latency);
    if (!a || !b) continue;
    before.push_back(to_ns(*a));
    after.push_back(to_ns(*b));
    differences.push_back(to_ns(*b - *a));
  }
  if (differences.empty()) return;
  put_statistics(before, latency, values.base);
  put_statistics(after, latency, values.own);
  values.differences[static_cast<std::size_t>(latency)] = paired(differences);
}

}  // namespace

const std::vector<MeasureInfo>& measures() {
  static const std::vector<MeasureInfo> all = make_measures();
  return all;
}

std::optional<std::size_t> find_measure(const std::string& name) {
  const auto& all = measures();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const MeasureInfo& m) { return m.name == name; });
  if (found == all.end()) return std::nullopt;
  return static_cast<std::size_t>(found - all.begin());
}

namespace {

Measured figures_of(const ClassReport& c, const Report& report) {
  Measured out{};
  const auto put = [&](RunMeasure measure, std::optional<double> value) { out[index_of(measure)] = value; };
  const auto ms = [](const std::optional<double>& ns) {
    return ns ? std::optional<double>(*ns / kMillisecond) : std::nullopt;
  };
  put(RunMeasure::kItlMean, ms(c.itl.mean));
  put(RunMeasure::kItlP99, ms(c.itl.p99()));
  if (c.has_slo) {
    // Of a run that can go on no more, those without an end are not good.
    const bool stalled = report.state == RunState::kStalled;
    put(RunMeasure::kGoodShare, share(c.good, stalled ? c.outcomes.injected : c.judged));
    put(RunMeasure::kGoodput, report.per_second(c.good));
  }
  put(RunMeasure::kCompletedShare, share(c.outcomes.completed, c.outcomes.injected));
  put(RunMeasure::kRequestRate, report.per_second(c.outcomes.completed));
  put(RunMeasure::kTokenRate, report.per_second(c.outputs));
  put(RunMeasure::kPreemptions, static_cast<double>(c.preemptions));
  put(RunMeasure::kRecomputed, static_cast<double>(c.recomputed));
  put(RunMeasure::kHitRate, share(c.cached, c.admitted_prompts));
  return out;
}

}  // namespace

RunFigures run_figures(const Report& report) {
  RunFigures figures;
  figures.all = figures_of(report.measured, report);
  const UsageReport& usage = report.usage;
  figures.all[index_of(RunMeasure::kPreemptions)] = static_cast<double>(usage.preemptions);
  figures.all[index_of(RunMeasure::kSwappedBlocks)] =
      static_cast<double>(usage.swap_out_blocks + usage.swap_in_blocks);
  figures.all[index_of(RunMeasure::kKvUsage)] = usage.kv_mean;
  for (const ClassReport& c : report.classes) {
    figures.classes.push_back(figures_of(c, report));
    figures.slos.push_back(c.slo);
  }
  for (const HeldShare& limit : report.limits) figures.held.emplace_back(limit.name, limit.request_seconds);
  return figures;
}

LengthBounds length_bounds(const RunRows& run) {
  return {quarters(run, &RequestRow::prompt), quarters(run, &RequestRow::outputs)};
}

std::vector<GroupValues> compare_runs(const ComparedRun& base,
                                      const ComparedRun& own,
                                      const LengthBounds& bounds) {
  const RowPairs pairs = finished_in_both(base.rows, own.rows);
  std::vector<GroupValues> result;
  for (const Group& group : groups_of(base.rows, pairs, bounds)) {
    GroupValues values;
    values.name = group.name;
    values.label = group.label;
    if (result.empty()) {
      values.base = base.figures.all;
      values.own = own.figures.all;
      values.base[index_of(RunMeasure::kFairness)] = fairness(base.rows);
      values.own[index_of(RunMeasure::kFairness)] = fairness(own.rows);
    } else if (result.size() <= base.rows.classes.size() && base.rows.classes.size() > 1) {
      values.base = base.figures.classes[result.size() - 1];
      values.own = own.figures.classes[result.size() - 1];
    }
    RowPairs members;
    for (const auto& pair : pairs) {
      if (group.has(base.rows.rows[pair.first])) members.push_back(pair);
    }
    values.pairs = members.size();
    for (std::size_t l = 0; l < kNumLatencies; ++l) {
      put_latency(values, static_cast<Latency>(l), base, own, members);
    }
    result.push_back(std::move(values));
  }
  return result;
}

}  // namespace servetwin
