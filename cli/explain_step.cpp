// One step in full: its cost by operation, its batch, and who was left out of it.
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <vector>

#include "cli/explain.h"
#include "cli/held_requests.h"
#include "cli/preemption_reason.h"
#include "cli/rerun.h"
#include "engine/base/digest.h"
#include "engine/base/text.h"
#include "scenarios/assemble.h"
#include "sim/backend/step_input.h"

namespace servetwin {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kLinesShown = 40;

class StepWatch final : public Observer {
 public:
  StepWatch(ReplicaId replica, StepId step) : replica_(replica), step_(step) {}

  void watch(const Cluster& cluster) { cluster_ = &cluster; }
  bool found() const { return found_; }
  const StepPlan& plan() const { return plan_; }
  const std::vector<HeldRequest>& held() const { return held_; }
  Time end() const { return end_; }
  StepId last_step() const { return last_step_; }

  void on_plan(const StepPlan& plan) override {
    if (plan.replica != replica_ || plan.shape.tokens == 0) return;
    last_step_ = plan.step;
    if (plan.step != step_) return;
    found_ = true;
    plan_ = plan;
    held_ = held_requests(*cluster_, plan);
  }

  void on_step_done(
      ReplicaId replica, StepId step, const StepShape& /*shape*/, Time /*planned*/, Time end) override {
    if (replica == replica_ && step == step_) end_ = end;
  }

 private:
  ReplicaId replica_;
  StepId step_;
  const Cluster* cluster_ = nullptr;
  bool found_ = false;
  StepPlan plan_;
  std::vector<HeldRequest> held_;
  Time end_ = kTimeNever;
  StepId last_step_{0};
};

struct StepPrice {
  StepCost cost;
  Duration swap{};  // before the step
};

StepPrice price_of(const Scenario& scenario, const StepPlan& plan) {
  const RunParts parts = assemble(scenario);
  std::vector<PrefillRow> rows;
  const std::int64_t blocks = plan.shape.swap_out_blocks + plan.shape.swap_in_blocks;
  return {parts.cost->step(step_input(plan, *parts.cost, rows)),
          duration_from_ns(parts.sim.swap_block_ns * static_cast<double>(blocks))};
}

std::int64_t all_pairs(const StepShape& shape) {
  return shape.prefill_q_context + (shape.prefill_q_squared + shape.prefill_tokens) / 2;
}

// The first lines, and how many there are more.
void print_lines(const std::vector<std::string>& lines, Terminal& terminal) {
  for (std::size_t i = 0; i < lines.size() && i < kLinesShown; ++i) terminal.out("  " + lines[i] + '\n');
  if (lines.size() > kLinesShown) terminal.out(fmt::format("  and {} more\n", lines.size() - kLinesShown));
}

std::vector<std::string> batch_lines(const StepPlan& plan, const RuleNames& rules) {
  std::vector<std::string> lines;
  for (const StepRow& row : plan.rows) {
    std::string text = fmt::format("request {}: {} token{} after {}", raw(row.request), row.tokens.value,
                                   row.tokens.value == 1 ? "" : "s", row.context.value);
    for (const PlanEntry& entry : plan.entries) {
      if (entry.request != row.request || entry.action != PlanAction::kAdmit) continue;
      text += fmt::format(", {}, {} from the prefix cache", entry.resumed ? "readmitted" : "admitted",
                          entry.hit.value);
    }
    if (row.sampled) text += ", yields a token";
    lines.push_back(std::move(text));
  }
  for (const PlanEntry& entry : plan.entries) {
    if (entry.action == PlanAction::kPreempt) {
      lines.push_back(fmt::format("request {}: preempted, {}, {} computed tokens lost", raw(entry.request),
                                  why_preempted(plan, entry, rules), entry.tokens.value));
    } else if (entry.action == PlanAction::kSwapOut || entry.action == PlanAction::kSwapIn) {
      lines.push_back(fmt::format("request {}: KV of {} tokens copied {}", raw(entry.request),
                                  entry.tokens.value,
                                  entry.action == PlanAction::kSwapOut ? "to the host" : "back"));
    }
  }
  return lines;
}

std::vector<std::string> held_lines(const StepWatch& watch, const EngineConfig& config) {
  std::vector<std::string> lines;
  for (const HeldRequest& held : watch.held()) {
    const std::string numbers = because(held.reason, watch.plan(), config);
    lines.push_back(fmt::format("request {}: {}{}{}", raw(held.request), in_words(held),
                                numbers.empty() ? "" : ": ", numbers));
  }
  return lines;
}

void print_step(const StepWatch& watch, const Scenario& scenario, Terminal& terminal) {
  const StepPlan& plan = watch.plan();
  terminal.out(fmt::format(
      "step {} of replica {}: planned at {:.6f} s, ended at {:.6f} s; {} tokens of {} requests\n\n",
      raw(plan.step), raw(plan.replica), to_seconds(plan.time), to_seconds(watch.end()),
      format_grouped(plan.shape.tokens), plan.shape.sequences));
  const StepPrice price = price_of(scenario, plan);
  terminal.out(to_text(price.cost));
  if (price.swap > Duration{0}) {
    terminal.out(
        fmt::format("before it {} KV blocks go to the host and {} come back: {:.3f} ms, {:.3f} ms in all\n",
                    plan.shape.swap_out_blocks, plan.shape.swap_in_blocks, to_milliseconds(price.swap),
                    to_milliseconds(price.swap + price.cost.total)));
  }
  if (plan.shape.window > 0) {
    terminal.out(
        fmt::format("layers with a window of {} tokens see {} of {} keys of decode rows, {} of {} pairs of "
                    "prefill rows\n",
                    plan.shape.window, format_grouped(plan.shape.window_context),
                    format_grouped(plan.shape.decode_context), format_grouped(plan.shape.window_pairs),
                    format_grouped(all_pairs(plan.shape))));
  }
  terminal.out("\nbatch:\n");
  print_lines(batch_lines(plan, scenario.spec().engine.rules), terminal);
  terminal.out(fmt::format("\nleft out: {} of {} running, {} waiting\n",
                           plan.running - (plan.shape.sequences - plan.shape.padding_sequences), plan.running,
                           plan.waiting));
  print_lines(held_lines(watch, engine_config(scenario)), terminal);
  terminal.out(fmt::format("\nKV blocks: {} used, {} free\n", format_grouped(plan.used_blocks.value),
                           format_grouped(plan.free_blocks.value)));
}

Json cost_json(const StepPrice& price) {
  const StepCost& cost = price.cost;
  Json operations = Json::array();
  for (std::size_t i = 0; i < cost.ops.size(); ++i) {
    const OpCost& op = cost.ops[i];
    if (op.ns == 0 && op.flops == 0 && op.bytes == 0) continue;
    operations.push_back({{"operation", to_string(static_cast<OpClass>(i))},
                          {"ms", op.ns / 1e6},
                          {"flops", op.flops},
                          {"bytes", op.bytes},
                          {"bound", to_string(op.bound)},
                          {"evidence", to_string(op.evidence)}});
  }
  return {{"total_ms", to_milliseconds(price.swap + cost.total)},
          {"swap_ms", to_milliseconds(price.swap)},
          {"operations", std::move(operations)}};
}

Json window_json(const StepShape& shape) {
  if (shape.window == 0) return nullptr;
  return {{"tokens", shape.window},
          {"decode_keys", shape.window_context},
          {"decode_keys_of", shape.decode_context},
          {"prefill_pairs", shape.window_pairs},
          {"prefill_pairs_of", all_pairs(shape)}};
}

Json batch_json(const StepPlan& plan) {
  Json batch = Json::array();
  for (const StepRow& row : plan.rows) {
    Json one = {{"request", raw(row.request)}, {"tokens", row.tokens.value}, {"context", row.context.value}};
    one["yields_token"] = row.sampled;
    one["admitted"] = nullptr;
    for (const PlanEntry& entry : plan.entries) {
      if (entry.request != row.request || entry.action != PlanAction::kAdmit) continue;
      one["admitted"] = {{"again", entry.resumed}, {"from_prefix_cache", entry.hit.value}};
    }
    batch.push_back(std::move(one));
  }
  return batch;
}

Json step_json(const StepWatch& watch, const Scenario& scenario, const std::optional<bool>& same_run) {
  const StepPlan& plan = watch.plan();
  Json out = {{"replica", raw(plan.replica)}, {"step", raw(plan.step)}};
  out["planned_s"] = to_seconds(plan.time);
  out["ended_s"] = watch.end() == kTimeNever ? Json(nullptr) : Json(to_seconds(watch.end()));
  out["tokens"] = plan.shape.tokens;
  out["cost"] = cost_json(price_of(scenario, plan));
  out["window"] = window_json(plan.shape);
  out["batch"] = batch_json(plan);
  out["preempted"] = Json::array();
  for (const PlanEntry& entry : plan.entries) {
    if (entry.action != PlanAction::kPreempt) continue;
    out["preempted"].push_back({{"request", raw(entry.request)},
                                {"tokens_lost", entry.tokens.value},
                                {"for", entry.cause == kNoRequest ? Json(nullptr) : Json(raw(entry.cause))},
                                {"because", why_preempted(plan, entry, scenario.spec().engine.rules)}});
  }
  out["swapped_out_blocks"] = plan.shape.swap_out_blocks;
  out["swapped_in_blocks"] = plan.shape.swap_in_blocks;
  out["left_out"] = Json::array();
  for (const HeldRequest& held : watch.held()) {
    out["left_out"].push_back({{"request", raw(held.request)},
                               {"running", held.running},
                               {"reason", to_string(held.reason)},
                               {"because", because(held.reason, plan, engine_config(scenario))}});
  }
  out["kv_blocks"] = {{"used", plan.used_blocks.value}, {"free", plan.free_blocks.value}};
  out["same_run"] = same_run ? Json(*same_run) : Json(nullptr);
  return out;
}

}  // namespace

Confirmation confirm_digests(const std::string& folder, const RunDigests& again) {
  const RunSummary summary = summary_of_run(folder);
  if (!summary.complete) {
    return {std::nullopt, "note: the run was stopped before its end, so its digests cannot be compared\n"};
  }
  const char* how = summary.needs_journal ? "replayed" : "simulated again";
  if (again == summary.digests) {
    return {true, fmt::format("{}, every step by itself: same decisions ({}) and same times ({})\n", how,
                              to_hex(again.decisions), to_hex(again.timeline))};
  }
  return {false, fmt::format("error: {} the run has digests {} and {}, not {} and {}: another build or "
                             "changed files, so this is not what happened then\n",
                             how, to_hex(again.decisions), to_hex(again.timeline),
                             to_hex(summary.digests.decisions), to_hex(summary.digests.timeline))};
}

void Confirmation::print(const ExplainOutput& output) const {
  if (same != true) return output.terminal.err(text);
  if (!output.json) output.terminal.out(text);
}

ExitCode explain_step(const std::string& folder,
                      StepId step,
                      ReplicaId replica,
                      const ExplainOutput& output) {
  const Scenario scenario = scenario_of_run(folder);
  if (raw(replica) >= scenario.spec().replicas) {
    throw UsageError(fmt::format("servetwin explain: replica {} of {}, counted from 0", raw(replica),
                                 scenario.spec().replicas));
  }
  StepWatch watch(replica, step);
  const std::unique_ptr<Rerun> rerun = run_again(folder, scenario, {&watch});
  watch.watch(rerun->cluster());
  serve(rerun->cluster(), rerun->backend());
  if (!watch.found()) {
    throw UsageError(fmt::format("servetwin explain: replica {} has steps 1 to {}, and no step {}",
                                 raw(replica), raw(watch.last_step()), raw(step)));
  }
  const Confirmation confirmation = confirm_digests(folder, rerun->digests());
  if (output.json) {
    output.terminal.out(step_json(watch, scenario, confirmation.same).dump(2) + '\n');
  } else {
    print_step(watch, scenario, output.terminal);
  }
  confirmation.print(output);
  return confirmation.code();
}

}  // namespace servetwin
