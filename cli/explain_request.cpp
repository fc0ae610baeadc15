// One request's life, step by step; or why it was or was not scheduled at one step.
#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <vector>

#include "cli/explain.h"
#include "cli/held_requests.h"
#include "cli/rerun.h"
#include "engine/base/text.h"

namespace servetwin {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kNamesShown = 8;

// Steps in which the same was done with the request.
struct Stretch {
  StepId first{0};
  StepId last{0};
  std::string what;
  std::string detail;  // of the first of them
  std::int64_t tokens = 0;
};

std::string names(const std::vector<RequestId>& requests) {
  std::vector<std::string> shown;
  for (std::size_t i = 0; i < requests.size() && i < kNamesShown; ++i) {
    shown.push_back(std::to_string(raw(requests[i])));
  }
  const std::string more =
      requests.size() > kNamesShown ? fmt::format(" and {} more", requests.size() - kNamesShown) : "";
  return join(shown, ", ") + more;
}

class RequestWatch final : public Observer {
 public:
  RequestWatch(RequestId request, std::optional<StepId> step) : request_(request), step_(step) {}

  void watch(const Cluster& cluster) { cluster_ = &cluster; }

  const std::optional<RequestSpec>& spec() const { return spec_; }
  ReplicaId replica() const { return replica_; }
  Time routed() const { return routed_; }
  const std::vector<Stretch>& stretches() const { return stretches_; }
  const std::optional<RequestRecord>& record() const { return record_; }
  const std::string& ahead() const { return ahead_; }
  // What became of it in the step asked for; empty when it was not there.
  const std::string& at_step() const { return at_step_; }

  void on_arrived(const RequestSpec& request, Time /*now*/) override {
    if (request.id == request_) spec_ = request;
  }

  void on_routed(const RequestSpec& request, ReplicaId replica, Time now) override {
    if (request.id != request_) return;
    replica_ = replica;
    routed_ = now;
  }

  void on_plan(const StepPlan& plan) override {
    if (plan.replica != replica_ || record_) return;
    const auto preempted =
        std::find_if(plan.entries.begin(), plan.entries.end(), [this](const PlanEntry& entry) {
          return entry.request == request_ && entry.action == PlanAction::kPreempt;
        });
    if (preempted != plan.entries.end()) {
      const bool swapped = preempted != plan.entries.begin() && (preempted - 1)->request == request_ &&
                           (preempted - 1)->action == PlanAction::kSwapOut;
      add(plan.step, "preempted",
          swapped ? fmt::format("KV of {} tokens copied to the host", (preempted - 1)->tokens.value)
                  : fmt::format("{} computed tokens lost", preempted->tokens.value),
          0);
    } else if (plan.shape.tokens > 0) {
      note_step(plan);
    }
    const bool noted = !stretches_.empty() && stretches_.back().last == plan.step;
    if (noted && step_ == plan.step) at_step_ = stretches_.back().what + text_of_detail();
  }

  void on_end(const RequestRecord& record) override {
    if (record.id == request_) record_ = record;
  }

 private:
  std::string text_of_detail() const { return detail_.empty() ? "" : ": " + detail_; }

  void note_step(const StepPlan& plan) {
    for (const StepRow& row : plan.rows) {
      if (row.request == request_) return note_row(plan, row);
    }
    const std::vector<HeldRequest> held = held_requests(*cluster_, plan);
    const auto self = std::find_if(held.begin(), held.end(),
                                   [this](const HeldRequest& one) { return one.request == request_; });
    if (self == held.end()) return;
    if (ahead_.empty() && !self->running) note_ahead(plan, held);
    const EngineConfig& config = cluster_->at(plan.replica).state().config;
    add(plan.step, in_words(*self), because(self->reason, plan, config), 0);
  }

  void note_row(const StepPlan& plan, const StepRow& row) {
    for (const PlanEntry& entry : plan.entries) {
      if (entry.request != request_ || entry.action == PlanAction::kSwapIn) continue;
      const bool admitted = entry.action == PlanAction::kAdmit;
      std::string detail = fmt::format("{} tokens after {}", row.tokens.value, row.context.value);
      if (admitted) detail += fmt::format(", {} from the prefix cache", entry.hit.value);
      if (row.sampled) detail += ", yields a token";
      const char* what = !admitted ? "scheduled, a chunk" : entry.resumed ? "readmitted" : "admitted";
      add(plan.step, what, detail, row.tokens.value);
      return;
    }
    add(plan.step, "scheduled, decoding", fmt::format("1 token after {}", row.context.value),
        row.tokens.value);
  }

  void note_ahead(const StepPlan& plan, const std::vector<HeldRequest>& held) {
    std::vector<RequestId> running;
    for (const StepRow& row : plan.rows) running.push_back(row.request);
    std::vector<RequestId> waiting;
    for (const HeldRequest& one : held) {
      if (one.request == request_) break;
      (one.running ? running : waiting).push_back(one.request);
    }
    ahead_ = fmt::format("queued behind {} running ({})", running.size(), names(running));
    if (!waiting.empty()) ahead_ += fmt::format(" and {} waiting ({})", waiting.size(), names(waiting));
  }

  void add(StepId step, const std::string& what, const std::string& detail, std::int64_t tokens) {
    detail_ = detail;
    if (stretches_.empty() || stretches_.back().what != what)
      stretches_.push_back({step, step, what, detail, 0});
    stretches_.back().last = step;
    stretches_.back().tokens += tokens;
  }

  RequestId request_;
  std::optional<StepId> step_;
  const Cluster* cluster_ = nullptr;
  std::optional<RequestSpec> spec_;
  ReplicaId replica_ = kNoReplica;
  Time routed_ = kTimeNever;
  std::vector<Stretch> stretches_;
  std::string detail_;  // of the last step
  std::string ahead_;
  std::string at_step_;
  std::optional<RequestRecord> record_;
};

std::string end_text(const RequestRecord& record) {
  std::string text = fmt::format("{:.6f} s  ended: {}", to_seconds(record.end), to_string(record.end_state));
  if (record.end_reason != EndReason::kNone) text += fmt::format(" ({})", to_string(record.end_reason));
  return text + fmt::format(", {} tokens, {} preemptions\n", record.outputs.value, record.preemptions);
}

void print_life(const RequestWatch& watch, Terminal& terminal) {
  const RequestSpec& spec = *watch.spec();
  terminal.out(fmt::format("request {}: prompt {}, at most {} tokens asked for\n", raw(spec.id),
                           spec.prompt.value, spec.max_tokens.value));
  terminal.out(fmt::format("{:.6f} s  arrived\n", to_seconds(spec.arrival)));
  if (watch.replica() != kNoReplica) {
    terminal.out(fmt::format("{:.6f} s  to replica {}\n", to_seconds(watch.routed()), raw(watch.replica())));
  }
  if (!watch.ahead().empty()) terminal.out(watch.ahead() + '\n');
  for (const Stretch& stretch : watch.stretches()) {
    const std::string steps = stretch.first == stretch.last
                                  ? fmt::format("step {}", raw(stretch.first))
                                  : fmt::format("steps {}-{}", raw(stretch.first), raw(stretch.last));
    std::string detail = stretch.detail;
    if (stretch.first != stretch.last && stretch.tokens > 0)
      detail = fmt::format("{} tokens", stretch.tokens);
    terminal.out(fmt::format("{:<14} {}{}{}\n", steps, stretch.what, detail.empty() ? "" : ": ", detail));
  }
  if (!watch.record()) {
    terminal.out("it had not ended when the run did\n");
    return;
  }
  if (watch.record()->first_token != kTimeNever) {
    terminal.out(fmt::format("{:.6f} s  first token\n", to_seconds(watch.record()->first_token)));
  }
  terminal.out(end_text(*watch.record()));
}

// What became of a request that reached a replica, in that step.
std::string at_step_text(const RequestWatch& watch, StepId step) {
  if (!watch.at_step().empty()) return watch.at_step();
  const auto& stretches = watch.stretches();
  if (stretches.empty()) return "no step was planned while it was there";
  if (step < stretches.front().first) {
    return fmt::format("not there yet; the first step that saw it is {}", raw(stretches.front().first));
  }
  return fmt::format("not there any more; the last step that saw it is {}", raw(stretches.back().last));
}

void print_step(const RequestWatch& watch, StepId step, Terminal& terminal) {
  const std::uint32_t request = raw(watch.spec()->id);
  if (watch.replica() == kNoReplica) {
    terminal.out(fmt::format("request {} never reached a replica\n", request));
    return;
  }
  terminal.out(fmt::format("request {} at step {} of replica {}: {}\n", request, raw(step),
                           raw(watch.replica()), at_step_text(watch, step)));
}

Json time_json(Time time) { return time == kTimeNever ? Json(nullptr) : Json(to_seconds(time)); }

Json request_json(const RequestWatch& watch, const std::optional<StepId>& step) {
  const RequestSpec& spec = *watch.spec();
  const bool was_routed = watch.replica() != kNoReplica;
  Json out = {{"request", raw(spec.id)}};
  out["replica"] = was_routed ? Json(raw(watch.replica())) : Json(nullptr);
  if (step) {
    out["step"] = raw(*step);
    out["what"] = was_routed ? at_step_text(watch, *step) : "never reached a replica";
    return out;
  }
  out["prompt"] = spec.prompt.value;
  out["max_tokens"] = spec.max_tokens.value;
  out["arrived_s"] = to_seconds(spec.arrival);
  out["routed_s"] = time_json(watch.routed());
  out["ahead"] = watch.ahead();
  out["steps"] = Json::array();
  for (const Stretch& stretch : watch.stretches()) {
    out["steps"].push_back({{"first", raw(stretch.first)},
                            {"last", raw(stretch.last)},
                            {"what", stretch.what},
                            {"detail", stretch.detail},
                            {"tokens", stretch.tokens}});
  }
  out["end"] = nullptr;
  if (!watch.record()) return out;
  const RequestRecord& record = *watch.record();
  out["first_token_s"] = time_json(record.first_token);
  out["end"] = {
      {"at_s", to_seconds(record.end)},
      {"state", to_string(record.end_state)},
      {"reason", record.end_reason == EndReason::kNone ? Json(nullptr) : Json(to_string(record.end_reason))},
      {"tokens", record.outputs.value},
      {"preemptions", record.preemptions}};
  return out;
}

}  // namespace

ExitCode explain_request(const std::string& folder,
                         RequestId request,
                         std::optional<StepId> step,
                         const ExplainOutput& output) {
  const Scenario scenario = scenario_of_run(folder);
  RequestWatch watch(request, step);
  const std::unique_ptr<Rerun> rerun = run_again(folder, scenario, {&watch});
  watch.watch(rerun->cluster());
  serve(rerun->cluster(), rerun->backend());
  if (!watch.spec()) {
    throw UsageError(fmt::format("servetwin explain: the run has no request {}", raw(request)));
  }
  const Confirmation confirmation = confirm_digests(folder, *rerun);
  if (output.json) {
    Json out = request_json(watch, step);
    out["same_run"] = confirmation.same ? Json(*confirmation.same) : Json(nullptr);
    output.terminal.out(out.dump(2) + '\n');
  } else if (step) {
    print_step(watch, *step, output.terminal);
  } else {
    print_life(watch, output.terminal);
  }
  confirmation.print(output);
  return confirmation.code();
}

}  // namespace servetwin
