// One request's life, step by step; or why it was or was not scheduled at one step.
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <vector>

#include "cli/explain.h"
#include "cli/request_story.h"
#include "cli/rerun.h"
#include "engine/base/registry.h"
#include "engine/base/text.h"
#include "engine/serving/rules.h"

namespace servetwin {
namespace {

using Json = nlohmann::ordered_json;

std::string at(Time time) { return fmt::format("{:.6f} s  ", to_seconds(time)); }

std::string end_text(const RequestRecord& record) {
  std::string text = at(record.end) + fmt::format("ended: {}", to_string(record.end_state));
  if (record.end_reason != EndReason::kNone) text += fmt::format(" ({})", to_string(record.end_reason));
  return text + fmt::format(", {} tokens, {} preemptions\n", record.outputs.value, record.preemptions);
}

// Where its time went.
std::string sum_text(const RequestRecord& record) {
  std::string text = fmt::format("{:.6f} s in all", to_seconds(record.end - record.arrival));
  if (record.first_scheduled != kTimeNever)
    text += fmt::format(", {:.6f} s of them until it was first scheduled",
                        to_seconds(record.first_scheduled - record.arrival));
  if (record.preempted > Duration{0})
    text += fmt::format(", {:.6f} s preempted", to_seconds(record.preempted));
  if (record.head_of_line > Duration{0})
    text += fmt::format(", {:.6f} s behind a head without room", to_seconds(record.head_of_line));
  if (record.recomputed.value > 0) text += fmt::format("; {} tokens computed again", record.recomputed.value);
  return text + '\n';
}

std::string stretch_text(const StoryStretch& stretch) {
  const bool single = stretch.first == stretch.last;
  const std::string steps = single ? fmt::format("step {}", raw(stretch.first))
                                   : fmt::format("steps {}-{}", raw(stretch.first), raw(stretch.last));
  std::string detail = stretch.detail;
  if (!single && stretch.tokens > 0) detail = fmt::format("{} tokens", stretch.tokens);
  if (stretch.reasons.size() > 1) {
    std::vector<std::string> reasons;
    for (const auto& [reason, count] : stretch.reasons)
      reasons.push_back(fmt::format("{} × {}", count, reason));
    detail = join(reasons, ", ") + "; at first " + detail;
  }
  return at(stretch.begin) +
         fmt::format("{:<14} {}{}{}\n", steps, stretch.what, detail.empty() ? "" : ": ", detail);
}

// Which rules decided; some forms of steps decide themselves who enters.
std::string scheduled_text(const EngineSpec& engine) {
  const auto* form = Registry<StepForm>::instance().find(engine.rules.step);
  const std::string start =
      fmt::format("scheduled as {} does: {} waiting order", engine.preset, engine.rules.waiting_order);
  if (form != nullptr && !form->make(ConfigNode{}, {})->asks_rules())
    return start + fmt::format(", steps of {}\n", engine.rules.step);
  return start + fmt::format(", {} admission, {} victims\n", engine.rules.admission, engine.rules.victim);
}

void print_life(const RequestStory& story, const Scenario& scenario, Terminal& terminal) {
  const RequestSpec& spec = *story.spec();
  terminal.out(fmt::format("request {}: prompt {}, at most {} tokens asked for\n", raw(spec.id),
                           spec.prompt.value, spec.max_tokens.value));
  terminal.out(scheduled_text(scenario.spec().engine));
  terminal.out(at(spec.arrival) + "arrived\n");
  if (story.replica() != kNoReplica)
    terminal.out(at(story.routed()) + fmt::format("to replica {}\n", raw(story.replica())));
  if (!story.ahead().empty()) terminal.out(story.ahead() + '\n');
  bool told_first = false;
  const auto& record = story.record();
  for (const StoryStretch& stretch : story.stretches()) {
    if (record && !told_first && record->first_token <= stretch.begin) {
      terminal.out(at(record->first_token) + "first token\n");
      told_first = true;
    }
    terminal.out(stretch_text(stretch));
  }
  if (!record) {
    terminal.out("it had not ended when the run did\n");
    return;
  }
  if (!told_first && record->first_token != kTimeNever)
    terminal.out(at(record->first_token) + "first token\n");
  terminal.out(end_text(*record) + sum_text(*record));
}

// What became of a request that reached a replica, in that step.
std::string at_step_text(const RequestStory& story, StepId step) {
  if (!story.at_step().empty()) return story.at_step();
  const auto& stretches = story.stretches();
  if (stretches.empty()) return "no step was planned while it was there";
  if (step < stretches.front().first) {
    return fmt::format("not there yet; the first step that saw it is {}", raw(stretches.front().first));
  }
  return fmt::format("not there any more; the last step that saw it is {}", raw(stretches.back().last));
}

void print_step(const RequestStory& story, StepId step, Terminal& terminal) {
  const std::uint32_t request = raw(story.spec()->id);
  if (story.replica() == kNoReplica) {
    terminal.out(fmt::format("request {} never reached a replica\n", request));
    return;
  }
  terminal.out(fmt::format("request {} at step {} of replica {}: {}\n", request, raw(step),
                           raw(story.replica()), at_step_text(story, step)));
}

Json time_json(Time time) { return time == kTimeNever ? Json(nullptr) : Json(to_seconds(time)); }

Json request_json(const RequestStory& story, const std::optional<StepId>& step) {
  const RequestSpec& spec = *story.spec();
  const bool was_routed = story.replica() != kNoReplica;
  Json out = {{"request", raw(spec.id)}};
  out["replica"] = was_routed ? Json(raw(story.replica())) : Json(nullptr);
  if (step) {
    out["step"] = raw(*step);
    out["what"] = was_routed ? at_step_text(story, *step) : "never reached a replica";
    return out;
  }
  out["prompt"] = spec.prompt.value;
  out["max_tokens"] = spec.max_tokens.value;
  out["arrived_s"] = to_seconds(spec.arrival);
  out["routed_s"] = time_json(story.routed());
  out["ahead"] = story.ahead();
  out["steps"] = Json::array();
  for (const StoryStretch& stretch : story.stretches()) {
    Json reasons = Json::object();
    for (const auto& [reason, count] : stretch.reasons) reasons[reason] = count;
    out["steps"].push_back({{"at_s", to_seconds(stretch.begin)},
                            {"first", raw(stretch.first)},
                            {"last", raw(stretch.last)},
                            {"what", stretch.what},
                            {"detail", stretch.detail},
                            {"tokens", stretch.tokens},
                            {"reasons", reasons}});
  }
  out["end"] = nullptr;
  if (!story.record()) return out;
  const RequestRecord& record = *story.record();
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
  RequestStory story(request, step, scenario.spec().engine.rules);
  const std::unique_ptr<Rerun> rerun = run_again(folder, scenario, {&story});
  story.watch(rerun->cluster());
  serve(rerun->cluster(), rerun->backend());
  if (!story.spec()) {
    throw UsageError(fmt::format("servetwin explain: the run has no request {}", raw(request)));
  }
  const Confirmation confirmation = confirm_digests(folder, rerun->digests());
  if (output.json) {
    Json out = request_json(story, step);
    out["same_run"] = confirmation.same ? Json(*confirmation.same) : Json(nullptr);
    output.terminal.out(out.dump(2) + '\n');
  } else if (step) {
    print_step(story, *step, output.terminal);
  } else {
    print_life(story, scenario, output.terminal);
  }
  confirmation.print(output);
  return confirmation.code();
}

}  // namespace servetwin
