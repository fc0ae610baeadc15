// Composes the answer; says what is not known rather than leaving it out.
#include "engine/metrics/answer.h"

#include <fmt/format.h>

#include "engine/base/text.h"
#include "engine/base/unit_text.h"

namespace servetwin {
namespace {

std::string percent(std::int64_t part, std::int64_t whole) {
  const auto per_mille = static_cast<std::int64_t>(static_cast<Int128>(part) * 1000 / whole);
  return per_mille % 10 == 0 ? fmt::format("{} %", per_mille / 10)
                             : fmt::format("{}.{} %", per_mille / 10, per_mille % 10);
}

// Three significant digits are enough for people.
std::string milliseconds(const std::optional<double>& ns) {
  if (!ns) return "-";
  const double ms = *ns / 1e6;
  if (ms >= 100) return fmt::format("{:.0f}", ms);
  return ms >= 10 ? fmt::format("{:.1f}", ms) : fmt::format("{:.2f}", ms);
}

std::string clock_time(Time t) {
  const double seconds = to_seconds(t);
  return seconds < 120 ? fmt::format("{:.1f} s", seconds) : fmt::format("minute {:.1f}", seconds / 60);
}

// Where classes are promised different things: the class that gets the least of its promise.
std::string worst_class_text(const Report& report) {
  const ClassReport* worst = nullptr;
  for (const ClassReport& c : report.classes) {
    if (c.judged == 0) continue;
    const bool is_worse = worst == nullptr || static_cast<Int128>(c.good) * worst->judged <
                                                  static_cast<Int128>(worst->good) * c.judged;
    if (is_worse) worst = &c;
  }
  if (worst == nullptr) return "";
  return fmt::format(", class {} the least: {} meet {}{}", worst->name, percent(worst->good, worst->judged),
                     slo_text(worst->slo), misses_text(*worst));
}

std::string quality_text(const Report& report) {
  const ClassReport& all = report.measured;
  if (all.outcomes.injected == all.outcomes.in_progress) return "no measured request ended";
  if (all.judged > 0) {
    return fmt::format("{} of requests meet {}{}", percent(all.good, all.judged), slo_text(all.slo),
                       all.slo.empty() ? worst_class_text(report) : misses_text(all));
  }
  if (all.outcomes.completed == 0) return "no measured request completed";
  return fmt::format("TTFT {} ms and ITL {} ms at p99 (no SLO given)", milliseconds(all.ttft.p99()),
                     milliseconds(all.itl.p99()));
}

std::string limit_text(const LimitFinding& found) {
  if (found.limit == Limit::kNone) return "nothing held requests back for a whole minute";
  const std::string what = found.limit == Limit::kMixed
                               ? "there is no single limit"
                               : fmt::format("the limit is {}", to_string(found.limit));
  if (!found.to_end) return fmt::format("{} in minutes {} to {}", what, found.from_minute, found.to_minute);
  if (found.from_minute == 0) return what + " throughout";
  return fmt::format("{} from minute {}", what, found.from_minute);
}

// Requests that did not complete, in one phrase; empty when all did.
std::string losses_text(const Outcomes& o) {
  std::vector<std::string> parts;
  const auto add = [&](std::int64_t count, const char* what) {
    if (count > 0) parts.push_back(fmt::format("{} {}", format_grouped(count), what));
  };
  add(o.rejected, "rejected");
  add(o.timed_out, "timed out");
  add(o.cancelled, "cancelled");
  add(o.failed, "failed");
  if (parts.empty()) return "";
  return fmt::format("{} of {} requests", join(parts, ", "), format_grouped(o.injected));
}

void add_latency_row(std::string& out, const std::string& name, const Distribution& d) {
  out += fmt::format("  {:<22}{:>10}{:>10}{:>10}{:>10}{:>10}{:>12}\n", name, milliseconds(d.mean),
                     milliseconds(d.median()), milliseconds(d.p90()), milliseconds(d.p99()),
                     milliseconds(d.max), format_grouped(d.count));
}

void add_latencies(std::string& out, const ClassReport& c) {
  out += fmt::format("  {:<22}{:>10}{:>10}{:>10}{:>10}{:>10}{:>12}\n", "ms", "mean", "p50", "p90", "p99",
                     "max", "count");
  add_latency_row(out, "TTFT", c.ttft);
  add_latency_row(out, "TPOT", c.tpot);
  add_latency_row(out, "ITL", c.itl);
  add_latency_row(out, "E2E", c.e2e);
  add_latency_row(out, "queue", c.queue);
  if (c.preempted.max.value_or(0) > 0) add_latency_row(out, "preempted", c.preempted);
  if (c.front_end.max.value_or(0) > 0) add_latency_row(out, "front end", c.front_end);
  if (c.head_of_line.max.value_or(0) > 0) add_latency_row(out, "behind a blocked head", c.head_of_line);
}

std::string share_text(const std::optional<double>& part) {
  return part ? fmt::format("{:.1f} %", *part * 100) : "-";
}

void add_line(std::string& out, const char* name, const std::string& value) {
  out += fmt::format("  {:<22}{}\n", name, value);
}

}  // namespace

std::string slo_text(const Slo& slo) {
  std::vector<std::string> parts;
  const auto add = [&](const char* name, const std::optional<Duration>& limit) {
    if (limit) parts.push_back(fmt::format("{} ≤ {}", name, format_duration(*limit)));
  };
  add("TTFT", slo.ttft);
  add("TPOT", slo.tpot);
  add("ITL", slo.itl);
  add("E2E", slo.e2e);
  return parts.empty() ? "the SLO of their class" : join(parts, " and ");
}

std::string misses_text(const ClassReport& c) {
  std::vector<std::string> parts;
  const auto add = [&](const char* name, SloLimit limit) {
    if (c.missed(limit) > 0) parts.push_back(fmt::format("{} by {}", name, format_grouped(c.missed(limit))));
  };
  add("TTFT", SloLimit::kTtft);
  add("TPOT", SloLimit::kTpot);
  add("ITL", SloLimit::kItl);
  add("E2E", SloLimit::kE2e);
  return parts.empty() ? "" : fmt::format(" (missed: {})", join(parts, ", "));
}

std::string answer_sentence(const Report& report, const Deployment& deployment) {
  std::vector<std::string> words;
  for (const std::string* word : {&deployment.devices, &deployment.model, &deployment.load}) {
    if (!word->empty()) words.push_back(*word);
  }
  std::vector<std::string> parts;
  if (report.state == RunState::kStalled) {
    parts.push_back(fmt::format("stalled at {}: {} requests wait and nothing can go on",
                                clock_time(report.end), format_grouped(report.all.in_progress)));
  }
  if (report.state == RunState::kInterrupted) {
    parts.push_back(fmt::format("incomplete, stopped at {}", clock_time(report.end)));
  }
  parts.push_back(quality_text(report));
  parts.push_back(limit_text(report.limit));
  const std::string losses = losses_text(report.measured.outcomes);
  if (!losses.empty()) parts.push_back(losses);
  if (report.steady.judged && report.steady.still_rising) {
    parts.push_back("no steady state: concurrency and TTFT were still rising");
  }
  return join(words, ", ") + (words.empty() ? "" : ": ") + join(parts, "; ");
}

std::string answer_table(const Report& report) {
  std::string out;
  for (const ClassReport& c : report.classes) {
    if (report.classes.size() > 1) {
      out += fmt::format("class {}: {} of {} completed\n", c.name, format_grouped(c.outcomes.completed),
                         format_grouped(c.outcomes.injected));
    }
    add_latencies(out, c);
    if (c.has_slo) {
      add_line(
          out, "good",
          (c.judged > 0 ? percent(c.good, c.judged) : "-") + " meet " + slo_text(c.slo) + misses_text(c));
    }
  }
  const ClassReport& m = report.measured;
  const Outcomes& o = m.outcomes;
  add_line(out, "requests",
           fmt::format("{} = {} completed + {} rejected + {} timed out + {} cancelled + {} failed{}",
                       o.injected, o.completed, o.rejected, o.timed_out, o.cancelled, o.failed,
                       o.in_progress > 0 ? fmt::format(" + {} in progress", o.in_progress) : ""));
  add_line(out, "throughput",
           fmt::format("{:.3g} req/s, {:.0f} output tokens/s over {:.1f} s", report.per_second(o.completed),
                       report.per_second(m.outputs), report.makespan_s));
  const UsageReport& u = report.usage;
  add_line(out, "KV cache",
           fmt::format("mean {}, peak {}, {} preemptions, {} tokens recomputed", share_text(u.kv_mean),
                       share_text(u.kv_peak), u.preemptions, m.recomputed));
  if (u.swap_out_blocks > 0) {
    add_line(out, "host tier",
             fmt::format("{} blocks swapped out, {} back", u.swap_out_blocks, u.swap_in_blocks));
  }
  add_line(out, "prefix hits", share_text(share(m.cached, m.admitted_prompts)) + " of prompt tokens");
  add_line(out, "steps",
           fmt::format("{}, replicas busy {}", format_grouped(u.steps), share_text(u.busy_share)));
  for (const HeldShare& limit : report.limits) {
    add_line(out, "held back by",
             fmt::format("{}: {:.1f} request-seconds ({:.1f} %)", limit.name, limit.request_seconds,
                         limit.share * 100));
  }
  return out;
}

}  // namespace servetwin
