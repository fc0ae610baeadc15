// What of a run is compared: each measure by name, and its values in one seed, by group of requests.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/metrics/report.h"
#include "sim/planner/request_row.h"

namespace servetwin {

enum class Better : std::uint8_t { kLess, kMore, kNeither };

struct MeasureInfo {
  std::string name;   // "ttft.p99", "good_share"
  std::string label;  // "TTFT p99", for people
  std::string unit;   // "ms", "share", "req/s", "tokens/s", "": counts
  Better better = Better::kLess;
};

// Latencies first: mean, p50, p90 and p99 of each; then what only a run as a whole has.
inline constexpr std::size_t kStatistics = 4;
inline constexpr std::size_t kLatencyMeasures = kNumLatencies * kStatistics;
enum class RunMeasure : std::uint8_t {
  kItlMean,
  kItlP99,
  kGoodShare,
  kCompletedShare,
  kGoodput,
  kRequestRate,
  kTokenRate,
  kPreemptions,
  kRecomputed,
  kSwappedBlocks,
  kKvUsage,
  kHitRate,
  kFairness
};
inline constexpr std::size_t kRunMeasures = 13;
inline constexpr std::size_t kNumMeasures = kLatencyMeasures + kRunMeasures;

const std::vector<MeasureInfo>& measures();
std::optional<std::size_t> find_measure(const std::string& name);
constexpr std::size_t index_of(RunMeasure m) { return kLatencyMeasures + static_cast<std::size_t>(m); }
constexpr std::size_t mean_of(Latency l) { return static_cast<std::size_t>(l) * kStatistics; }

// By measure; nothing where there is no value. Latencies are in milliseconds.
using Measured = std::array<std::optional<double>, kNumMeasures>;

// What a run says of itself, all requests together and by class, without the latencies of its requests.
struct RunFigures {
  Measured all{};
  std::vector<Measured> classes;
  std::vector<std::pair<std::string, double>> held;  // request-seconds by limit, largest first
  std::vector<Slo> slos;                             // by class
};
RunFigures run_figures(const Report& report);

// A run, ready to be compared.
struct ComparedRun {
  RunRows rows;
  RunFigures figures;
};

// The paired differences, own less baseline, of one latency: of every request by itself.
struct PairedDifference {
  double mean = 0;  // milliseconds, as all of these
  double p10 = 0;
  double p50 = 0;
  double p90 = 0;
  double less = 0;  // share of requests that are served better than under the baseline
  double more = 0;  // and worse
};

// One group of requests in one seed under the baseline and under a variant.
struct GroupValues {
  std::string name;   // "all", "class chat", "tenant 3", "prompt q1"
  std::string label;  // for people: "prompts up to 128 tokens"
  std::size_t pairs = 0;
  Measured base{};
  Measured own{};
  std::array<std::optional<PairedDifference>, kNumLatencies> differences{};
};

inline constexpr std::size_t kMostTenants = 16;  // more are not told one by one

// Lengths up to which the first, second and third quarter of the finished requests reach; fewer where many
// have the same length, none where all do.
struct LengthBounds {
  std::vector<std::int64_t> prompts;
  std::vector<std::int64_t> outputs;
};
LengthBounds length_bounds(const RunRows& run);

// Requests are paired; only those that finished under both count in latencies. Groups are all, each class,
// tenant (of at most kMostTenants) and part of prompts and outputs by length, where there are several.
std::vector<GroupValues> compare_runs(const ComparedRun& base,
                                      const ComparedRun& own,
                                      const LengthBounds& bounds);

}  // namespace servetwin
