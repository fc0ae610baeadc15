// Columns are found by name, so that files of older and newer versions read alike.
#include "scenarios/compared_folders.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "engine/base/text.h"
#include "engine/workload/traces/line_reader.h"
#include "scenarios/input_text.h"
#include "scenarios/request_rows.h"

namespace servetwin {
namespace {

using SummaryJson = nlohmann::json;
using Pointer = nlohmann::json::json_pointer;

constexpr const char* kFolderRemedy = "name the folder that `servetwin simulate --out` wrote";

[[noreturn]] void refuse(const char* code, SourcePlace place, std::string message, std::string remedy) {
  throw ConfigError(Problem{code, std::move(place), "", std::move(message), std::move(remedy)});
}

std::optional<double> number(const SummaryJson& json, const std::string& pointer) {
  const Pointer at(pointer);
  return json.contains(at) && json[at].is_number() ? std::optional(json[at].get<double>()) : std::nullopt;
}

std::string text(const SummaryJson& json, const char* pointer) {
  const Pointer at(pointer);
  return json.contains(at) && json[at].is_string() ? json[at].get<std::string>() : "";
}

Measured figures_of(const SummaryJson& json, const std::string& outcomes) {
  Measured out{};
  const auto put = [&](RunMeasure m, const std::string& pointer) {
    out[index_of(m)] = number(json, pointer);
  };
  put(RunMeasure::kItlMean, "/latency_ms/itl/mean");
  put(RunMeasure::kItlP99, "/latency_ms/itl/p99");
  put(RunMeasure::kGoodShare, "/goodput/share");
  put(RunMeasure::kGoodput, "/goodput/requests_per_s");
  const auto completed = number(json, outcomes + "/completed");
  const auto injected = number(json, outcomes + "/injected");
  if (completed && injected && *injected > 0) {
    out[index_of(RunMeasure::kCompletedShare)] = *completed / *injected;
  }
  return out;
}

Slo slo_of(const SummaryJson& json) {
  const auto limit = [&](const char* pointer) -> std::optional<Duration> {
    const auto ms = number(json, pointer);
    return ms ? std::optional(Duration{std::llround(*ms * 1e6)}) : std::nullopt;
  };
  return {limit("/slo/ttft_ms"), limit("/slo/tpot_ms"), limit("/slo/itl_ms"), limit("/slo/e2e_ms")};
}

RunFigures figures_of_run(const SummaryJson& json) {
  RunFigures figures;
  figures.all = figures_of(json, "/requests");
  const auto put = [&](RunMeasure m, const char* pointer) {
    figures.all[index_of(m)] = number(json, pointer);
  };
  put(RunMeasure::kRequestRate, "/request_throughput");
  put(RunMeasure::kTokenRate, "/output_throughput");
  put(RunMeasure::kPreemptions, "/kv_cache/preemptions");
  put(RunMeasure::kRecomputed, "/kv_cache/recomputed_tokens");
  put(RunMeasure::kKvUsage, "/kv_cache/mean_usage");
  put(RunMeasure::kHitRate, "/prefix_cache/hit_rate");
  const auto swapped_out = number(json, "/kv_cache/swapped_out_blocks");
  const auto swapped_in = number(json, "/kv_cache/swapped_in_blocks");
  if (swapped_out && swapped_in)
    figures.all[index_of(RunMeasure::kSwappedBlocks)] = *swapped_out + *swapped_in;
  for (const SummaryJson& one : json.value("classes", SummaryJson::array())) {
    figures.classes.push_back(figures_of(one, "/requests"));
    figures.slos.push_back(slo_of(one));
  }
  const Pointer limits("/limits/by_limit");
  if (!json.contains(limits)) return figures;
  for (const SummaryJson& one : json[limits]) {
    figures.held.emplace_back(text(one, "/name"), number(one, "/request_seconds").value_or(0));
  }
  return figures;
}

// One line of requests.csv by column.
class CsvRow {
 public:
  CsvRow(const std::string& file, const std::vector<std::string>& header) : file_(file) {
    for (std::size_t i = 0; i < header.size(); ++i) columns_.emplace(header[i], i);
    width_ = header.size();
  }

  void read(std::string_view line, std::int64_t line_number) {
    cells_ = split_csv_line(line);
    line_ = line_number;
    if (cells_.size() != width_) fail("has another number of fields than the header");
  }
  const std::string& text(const char* column) const {
    const auto found = columns_.find(column);
    if (found == columns_.end()) fail("there is no column " + std::string(column));
    return cells_[found->second];
  }
  std::optional<std::int64_t> maybe(const char* column) const {
    const std::string& cell = text(column);
    if (cell.empty()) return std::nullopt;
    std::int64_t value = 0;
    const auto end = std::from_chars(cell.data(), cell.data() + cell.size(), value).ptr;
    if (end != cell.data() + cell.size() || value < 0) fail(std::string(column) + " is no number");
    return value;
  }
  std::int64_t integer(const char* column) const {
    const auto value = maybe(column);
    if (!value) fail(std::string(column) + " is empty");
    return *value;
  }
  std::optional<Duration> span(const char* column) const {
    const auto value = maybe(column);
    return value ? std::optional(Duration{*value}) : std::nullopt;
  }
  [[noreturn]] void fail(const std::string& message) const {
    refuse("CFG302", SourcePlace{file_, static_cast<int>(line_), 0}, message, kFolderRemedy);
  }

 private:
  std::string file_;
  std::map<std::string, std::size_t> columns_;
  std::size_t width_ = 0;
  std::vector<std::string> cells_;
  std::int64_t line_ = 1;
};

std::optional<EndState> end_state(const std::string& name) {
  for (int state = 0; state < kNumEndStates; ++state) {
    if (name == to_string(static_cast<EndState>(state))) return static_cast<EndState>(state);
  }
  return std::nullopt;
}

RequestRow row_of(const CsvRow& csv, std::vector<std::string>& classes) {
  RequestRow row;
  row.id = RequestId{static_cast<std::uint32_t>(csv.integer("id"))};
  row.turn = raw(row.id);
  auto found = std::find(classes.begin(), classes.end(), csv.text("class"));
  if (found == classes.end()) csv.fail("class " + csv.text("class") + " is not in summary.json");
  row.traffic_class = ClassId{static_cast<std::uint8_t>(found - classes.begin())};
  row.tenant = TenantId{static_cast<std::uint16_t>(csv.integer("tenant"))};
  row.measured = csv.integer("measured") == 1;
  row.end_state = end_state(csv.text("end_state"));
  if (!row.end_state) csv.fail("end_state " + csv.text("end_state") + " is not known");
  row.prompt = Tokens{csv.integer("prompt_tokens")};
  row.max_tokens = Tokens{csv.integer("max_tokens")};
  row.outputs = Tokens{csv.integer("output_tokens")};
  row.arrival = time_at_ns(csv.integer("arrival_ns"));
  row.sojourn = time_at_ns(csv.integer("end_ns")) - row.arrival;
  const auto put = [&](Latency latency, std::optional<Duration> span) {
    row.latencies[static_cast<std::size_t>(latency)] = span;
  };
  put(Latency::kTtft, csv.span("ttft_ns"));
  put(Latency::kTpot, csv.span("tpot_ns"));
  put(Latency::kE2e, csv.span("e2e_ns"));
  put(Latency::kQueue, csv.span("queue_ns"));
  put(Latency::kPreempted, csv.span("preempted_ns"));
  put(Latency::kHeadOfLine, csv.span("head_of_line_ns"));
  // What a token takes to its client is part of TTFT and of nothing else in the row.
  const auto ready = csv.maybe("ready_ns");
  const auto first = csv.maybe("first_token_ns");
  const auto ttft = row.latency(Latency::kTtft);
  if (first && ttft) {
    put(Latency::kFrontEnd, *ttft - Duration{*first - ready.value_or(to_ns(row.arrival))});
  }
  complete_latencies(row);
  return row;
}

RunRows rows_of(const std::string& file, const SummaryJson& summary) {
  RunRows run;
  for (const SummaryJson& one : summary.value("classes", SummaryJson::array()))
    run.classes.push_back(text(one, "/name"));
  std::error_code failed;
  if (!std::filesystem::is_regular_file(file, failed))
    refuse("CFG302", SourcePlace{file, 0, 0}, "is not there", kFolderRemedy);
  LineReader lines(read_file(file), file);
  std::string_view line;
  if (!lines.next(line)) refuse("CFG302", SourcePlace{file, 0, 0}, "is empty", kFolderRemedy);
  CsvRow csv(file, split_csv_line(line));
  while (lines.next(line)) {
    csv.read(line, lines.line_number());
    run.rows.push_back(row_of(csv, run.classes));
  }
  const auto expected = number(summary, "/requests/injected");
  if (expected && *expected != static_cast<double>(run.rows.size())) {
    refuse("CFG302", SourcePlace{file, 0, 0},
           "has " + std::to_string(run.rows.size()) + " requests, and summary.json another number",
           kFolderRemedy);
  }
  std::sort(run.rows.begin(), run.rows.end(),
            [](const RequestRow& a, const RequestRow& b) { return a.key() < b.key(); });
  return run;
}

std::uint64_t digest_of(const SummaryJson& json, const char* pointer) {
  const std::string hex = text(json, pointer);
  std::uint64_t digest = 0;
  std::from_chars(hex.data(), hex.data() + hex.size(), digest, 16);
  return digest;
}

ComparedRunFacts facts_of(const std::string& name, const SummaryJson& json) {
  ComparedRunFacts facts;
  facts.variant = name;
  const Pointer seed("/provenance/seed");
  if (json.contains(seed) && json[seed].is_number_unsigned()) facts.seed = json[seed].get<std::int64_t>();
  facts.scenario_hash = text(json, "/provenance/scenario_sha256");
  facts.decisions_digest = digest_of(json, "/digests/decisions");
  facts.timeline_digest = digest_of(json, "/digests/timeline");
  facts.cost_model = text(json, "/provenance/cost_model");
  const Pointer evidence("/provenance/evidence");
  if (json.contains(evidence) && json[evidence].is_object() && !json[evidence].empty())
    facts.evidence = json[evidence].begin().key();
  return facts;
}

SummaryJson summary_of(const std::string& folder) {
  const std::string file = (std::filesystem::path(folder) / "summary.json").string();
  std::error_code failed;
  if (!std::filesystem::is_regular_file(file, failed))
    refuse("CFG302", SourcePlace{file, 0, 0}, "is not there", kFolderRemedy);
  const auto json = SummaryJson::parse(read_input(file), nullptr, false);
  const SourcePlace place{file, 0, 0};
  if (!json.is_object() || !json.contains("state"))
    refuse("CFG302", place, "is no summary of a run", kFolderRemedy);
  if (text(json, "/state") != "complete") {
    refuse("CMP004", place, "tells of a run that is " + text(json, "/state"),
           "compare runs that are complete");
  }
  if (text(json, "/provenance/loop") == "closed") {
    refuse("CMP002", place, "is of a closed loop: which request is which depends on who was served first",
           "compare the scenarios: `servetwin compare A.yaml B.yaml`");
  }
  return json;
}

}  // namespace

ComparisonOutcome compare_folders(const std::vector<std::string>& folders,
                                  const ComparisonOverrides& overrides) {
  const std::string& wanted = overrides.baseline;
  const auto found = wanted.empty() ? folders.begin() : std::find(folders.begin(), folders.end(), wanted);
  if (found == folders.end()) {
    ConfigNode option;
    option.place.file = "--baseline " + wanted;
    throw ConfigError(unknown_name_problem(option, wanted, folders));
  }
  ComparisonOutcome out;
  std::vector<ComparedRun> runs;
  JudgeOptions options;
  options.judged = judged_measures(overrides.judge);
  bool has_slo = true;
  for (const std::string& folder : folders) {
    const SummaryJson summary = summary_of(folder);
    const std::string file = (std::filesystem::path(folder) / "requests.csv").string();
    runs.push_back({rows_of(file, summary), figures_of_run(summary)});
    has_slo = has_slo && runs.back().figures.all[index_of(RunMeasure::kGoodShare)].has_value();
    out.runs.push_back(facts_of(folder, summary));
    out.name += (out.name.empty() ? "" : " ") + folder;
  }
  if (options.judged.empty()) options.judged = usual_measures(has_slo);
  const auto baseline = static_cast<std::size_t>(found - folders.begin());
  for (std::size_t i = 0; i < runs.size(); ++i) {
    check_comparable(runs[baseline], folders[baseline], runs[i], folders[i]);
  }
  out.result =
      judge(folders, baseline, {compare_seed(runs, baseline, length_bounds(runs[baseline].rows))}, options);
  return out;
}

}  // namespace servetwin
