// `vllm bench serve` names at the top level, ours beside them.
#include "engine/metrics/summary.h"

#include <array>
#include <nlohmann/json.hpp>

#include "engine/base/digest.h"
#include "generated/servetwin_build.h"

namespace servetwin {
namespace {

using Json = nlohmann::ordered_json;

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json scaled(const std::optional<double>& value, double unit) {
  return value ? Json(*value / unit) : Json(nullptr);
}

constexpr double kMillisecond = 1e6;
constexpr std::array<const char*, kQuantilesPerMille.size()> kQuantileNames = {"median", "p90", "p95", "p99",
                                                                               "p99.9"};

// mean_<name>, median_<name>, ... as vLLM spells them.
void add_flat(Json& out, const std::string& name, const Distribution& d) {
  out["mean_" + name] = scaled(d.mean, kMillisecond);
  out["std_" + name] = scaled(d.std, kMillisecond);
  for (std::size_t i = 0; i < kQuantileNames.size(); ++i) {
    out[std::string(kQuantileNames[i]) + "_" + name] = scaled(d.quantiles[i], kMillisecond);
  }
}

Json distribution(const Distribution& d, double unit) {
  Json out;
  out["count"] = d.count;
  out["exact"] = d.exact;
  out["mean"] = scaled(d.mean, unit);
  out["std"] = scaled(d.std, unit);
  out["min"] = scaled(d.min, unit);
  for (std::size_t i = 0; i < kQuantileNames.size(); ++i)
    out[kQuantileNames[i]] = scaled(d.quantiles[i], unit);
  out["max"] = scaled(d.max, unit);
  return out;
}

Json outcomes(const Outcomes& o) {
  Json out;
  out["injected"] = o.injected;
  out["completed"] = o.completed;
  out["rejected"] = o.rejected;
  out["timed_out"] = o.timed_out;
  out["cancelled"] = o.cancelled;
  out["failed"] = o.failed;
  out["in_progress"] = o.in_progress;
  out["ended_by"] = {{"stop", o.ended_by_stop}, {"length", o.ended_by_length}};
  out["reasons"] = Json::object();
  for (const auto& [reason, count] : o.reasons) out["reasons"][reason] = count;
  return out;
}

Json slo(const Slo& slo) {
  const auto limit = [](const std::optional<Duration>& d) {
    return d ? Json(to_milliseconds(*d)) : Json(nullptr);
  };
  return {{"ttft_ms", limit(slo.ttft)},
          {"tpot_ms", limit(slo.tpot)},
          {"itl_ms", limit(slo.itl)},
          {"e2e_ms", limit(slo.e2e)}};
}

Json goodput(const ClassReport& c, const Report& report) {
  if (!c.has_slo) return nullptr;
  Json out;
  out["good"] = c.good;
  out["share"] = or_null(share(c.good, c.judged));
  out["missed"] = {{"ttft", c.missed(SloLimit::kTtft)},
                   {"tpot", c.missed(SloLimit::kTpot)},
                   {"itl", c.missed(SloLimit::kItl)},
                   {"e2e", c.missed(SloLimit::kE2e)}};
  out["requests_per_s"] = report.per_second(c.good);
  out["output_tokens_per_s"] = report.per_second(c.good_outputs);
  return out;
}

Json latencies(const ClassReport& c) {
  Json out;
  out["ttft"] = distribution(c.ttft, kMillisecond);
  out["tpot"] = distribution(c.tpot, kMillisecond);
  out["itl"] = distribution(c.itl, kMillisecond);
  out["e2e"] = distribution(c.e2e, kMillisecond);
  out["queue"] = distribution(c.queue, kMillisecond);
  out["preempted"] = distribution(c.preempted, kMillisecond);
  out["front_end"] = distribution(c.front_end, kMillisecond);
  out["head_of_line"] = distribution(c.head_of_line, kMillisecond);
  return out;
}

Json class_json(const ClassReport& c, const Report& report) {
  Json out;
  out["name"] = c.name;
  out["slo"] = slo(c.slo);
  out["requests"] = outcomes(c.outcomes);
  out["goodput"] = goodput(c, report);
  out["input_tokens"] = c.prompts;
  out["output_tokens"] = c.outputs;
  out["latency_ms"] = latencies(c);
  return out;
}

void add_vllm_names(Json& out, const Report& report) {
  const ClassReport& m = report.measured;
  out["duration"] = report.makespan_s;
  out["completed"] = m.outcomes.completed;
  out["failed"] = m.outcomes.failed;
  out["total_input_tokens"] = m.prompts;
  out["total_output_tokens"] = m.outputs;
  out["request_throughput"] = report.per_second(m.outcomes.completed);
  out["request_goodput"] = m.has_slo ? Json(report.per_second(m.good)) : Json(nullptr);
  out["output_throughput"] = report.per_second(m.outputs);
  out["total_token_throughput"] = report.per_second(m.prompts + m.outputs);
  out["max_output_tokens_per_s"] = or_null(report.max_tokens_per_second);
  out["max_concurrent_requests"] = or_null(report.max_concurrent);
  add_flat(out, "ttft_ms", m.ttft);
  add_flat(out, "tpot_ms", m.tpot);
  add_flat(out, "itl_ms", m.itl);
  add_flat(out, "e2el_ms", m.e2e);
}

Json window(const Report& report) {
  Json out;
  out["makespan_s"] = report.makespan_s;
  out["measured_window_s"] = or_null(report.window_s);
  if (report.window_s) {
    out["from_s"] = to_seconds(report.measure_from);
    out["to_s"] = to_seconds(report.measure_to);
    out["completed_per_s"] = static_cast<double>(report.window_completed) / *report.window_s;
    out["output_tokens_per_s"] = static_cast<double>(report.window_tokens) / *report.window_s;
  }
  return out;
}

Json steady_state(const SteadyState& steady) {
  const auto trend = [](const Trend& t) {
    return Json{{"rise_share_of_mean", t.rise}, {"standard_errors", t.t}};
  };
  if (!steady.judged) return {{"judged", false}, {"reached", nullptr}};
  return {{"judged", true},
          {"reached", !steady.still_rising},
          {"concurrency", trend(steady.concurrency)},
          {"ttft", trend(steady.ttft)}};
}

Json usage(const Report& report) {
  const UsageReport& u = report.usage;
  const ClassReport& m = report.measured;
  Json out;
  out["kv_cache"] = {{"mean_usage", or_null(u.kv_mean)},
                     {"peak_usage", or_null(u.kv_peak)},
                     {"fragmentation_at_end", or_null(share(m.waste_at_end, m.held_at_end))},
                     {"wasted_slots_at_end", distribution(m.waste, 1)},
                     {"preemptions", u.preemptions},
                     {"recomputed_tokens", m.recomputed},
                     {"swapped_out_blocks", u.swap_out_blocks},
                     {"swapped_in_blocks", u.swap_in_blocks}};
  out["prefix_cache"] = {{"queries_tokens", m.admitted_prompts},
                         {"hits_tokens", m.cached},
                         {"hit_rate", or_null(share(m.cached, m.admitted_prompts))}};
  out["steps"] = {{"count", u.steps},
                  {"pure_decode", u.pure_decode_steps},
                  {"with_graph", u.graph_steps},
                  {"mean_tokens", or_null(share(u.tokens, u.steps))},
                  {"mean_sequences", or_null(share(u.sequences, u.steps))},
                  {"tokens", u.tokens},
                  {"prefill_share_of_tokens", or_null(share(u.prefill_tokens, u.tokens))},
                  {"padding_tokens", u.padding_tokens},
                  {"busy_share", u.busy_share}};
  out["queues"] = {{"mean_running", u.mean_running},
                   {"mean_waiting", u.mean_waiting},
                   {"mean_in_system", u.mean_in_system}};
  return out;
}

Json ranking(const std::vector<HeldShare>& shares) {
  Json out = Json::array();
  for (const HeldShare& s : shares) {
    out.push_back({{"name", s.name}, {"request_seconds", s.request_seconds}, {"share", s.share}});
  }
  return out;
}

Json limits(const Report& report) {
  Json out;
  out["limit"] = to_string(report.limit.limit);
  if (report.limit.limit != Limit::kNone) {
    out["from_minute"] = report.limit.from_minute;
    out["to_minute"] = report.limit.to_minute;
    out["to_end"] = report.limit.to_end;
  }
  out["by_limit"] = ranking(report.limits);
  out["by_reason"] = ranking(report.reasons);
  out["minutes"] = Json::array();
  for (const MinuteLimit& m : report.minutes) {
    out["minutes"].push_back({{"limit", to_string(m.limit)}, {"share", m.share}, {"mean_held", m.mean_held}});
  }
  return out;
}

Json provenance_json(const Provenance& p) {
  Json out;
  out["tool"] = "servetwin";
  out["version"] = kVersion;
  out["build"] = {
      {"commit", kGitCommit}, {"compiler", kCompiler}, {"type", kBuildType}, {"flags", kBuildFlags}};
  out["scenario"] = p.scenario;
  out["scenario_sha256"] = p.scenario_hash;
  out["workload"] = p.workload;
  out["trace_sha256"] = p.trace_hash;
  out["cost_model"] = p.cost_model;
  out["profile_sha256"] = p.profile_hash;
  out["memory"] = p.memory;
  out["model"] = p.model;
  out["seed"] = p.seed;
  out["events"] = p.events;
  out["evidence"] = Json::object();
  for (const auto& [name, part] : p.evidence) out["evidence"][name] = part;
  out["oracle"] = p.oracle;
  out["loop"] = p.closed_loop ? "closed" : "open";
  return out;
}

const char* state_name(RunState state) {
  switch (state) {
    case RunState::kComplete:
      return "complete";
    case RunState::kInterrupted:
      return "interrupted";
    case RunState::kStalled:
      return "stalled";
  }
  return "?";
}

}  // namespace

std::string summary_json(const Report& report, const Provenance& provenance) {
  Json out;
  out["schema_version"] = kSummarySchemaVersion;
  out["complete"] = report.complete();
  out["state"] = state_name(report.state);
  out["digests"] = {{"decisions", to_hex(provenance.decisions_digest)},
                    {"timeline", to_hex(provenance.timeline_digest)}};
  add_vllm_names(out, report);
  out["simulated_s"] = to_seconds(report.end);
  out["requests"] = outcomes(report.measured.outcomes);
  out["all_requests"] = outcomes(report.all);
  out["goodput"] = goodput(report.measured, report);
  out["windows"] = window(report);
  out["steady_state"] = steady_state(report.steady);
  out["latency_ms"] = latencies(report.measured);
  out["classes"] = Json::array();
  for (const ClassReport& c : report.classes) out["classes"].push_back(class_json(c, report));
  out.update(usage(report));
  out["limits"] = limits(report);
  out["not_modelled"] = provenance.not_modelled;
  out["provenance"] = provenance_json(provenance);
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace servetwin
