// Submissions become workload items whose outcome is known here and told word by word.
#include "scenarios/simulated_engine.h"

#include <algorithm>
#include <utility>

#include "engine/base/check.h"
#include "engine/base/digest.h"
#include "engine/metrics/prometheus_text.h"
#include "kernels/thread_place.h"
#include "scenarios/stand_in_text.h"

namespace servetwin {
namespace {

// Of the first class of a drawn workload; a trace's answers are its own.
std::optional<Traffic> answer_lengths(const Scenario& scenario) {
  const WorkloadSpec& workload = scenario.workload;
  const TrafficSpec first = workload.classes.empty() ? TrafficSpec{} : workload.classes.front().traffic;
  Traffic traffic(first.over(workload.traffic), ClassId{0}, 0,
                  static_cast<std::uint64_t>(scenario.spec().seed));
  if (!traffic.has_lengths()) return std::nullopt;
  return traffic;
}

RunParts plain_parts(const Scenario& scenario) {
  RunParts parts = assemble(scenario);
  use_plain_loop(parts);
  parts.recorder.measure_from = kTimeZero;
  parts.recorder.measure_to = kTimeNever;
  return parts;
}

std::uint64_t name_of_text(const CompletionRequest& request) {
  Digest digest;
  digest.add(request.prompt.fingerprint);
  digest.add(request.sampling.seed);
  digest.add(request.choice);
  return digest.value();
}

}  // namespace

SimulatedEngine::SimulatedEngine(const Scenario& scenario,
                                 AnswerListener& listener,
                                 SimulatedEngineOptions options)
    : scenario_(scenario),
      listener_(listener),
      options_(std::move(options)),
      lengths_(answer_lengths(scenario)),
      parts_(plain_parts(scenario)),
      recorder_(parts_.recorder) {
  const std::string& model = scenario.model.name;
  card_ = {options_.name.empty() ? model : options_.name, model, scenario.max_model_len(), false,
           kStandInRule};
  std::vector<Observer*> observers = {&recorder_};
  observers.insert(observers.end(), options_.observers.begin(), options_.observers.end());
  cluster_ = std::make_unique<Cluster>(parts_.cluster, parts_.make_rules, std::move(parts_.router),
                                       std::move(observers));
  PacedOptions pace;
  pace.speed = options_.speed;
  pace.journal = options_.journal;
  PacedListener& self = *this;
  backend_ = std::make_unique<PacedBackend>(std::vector<const CostModel*>{parts_.cost.get()}, parts_.sim,
                                            pace, self);
  if (parts_.warm) warm_caches(*parts_.warm, *cluster_);
  thread_ = named_thread("core", [this] {
    check_context().seed = static_cast<std::uint64_t>(scenario_.spec().seed);
    backend_->attach(*cluster_);
    serve(*cluster_, *backend_);
  });
}

SimulatedEngine::~SimulatedEngine() {
  backend_->stop();
  if (thread_.joinable()) thread_.join();
}

const Cluster& SimulatedEngine::stop() {
  backend_->close();
  thread_.join();
  return *cluster_;
}

Prompt SimulatedEngine::prepare(const PromptInput& input) const {
  return stand_in_prompt(input, scenario_.spec().engine.config.block_size);
}

bool SimulatedEngine::submit(RequestId id, CompletionRequest request) {
  Telling telling;
  telling.text = name_of_text(request);
  telling.min_tokens = request.sampling.min_tokens;
  if (!request.stops.empty()) telling.stops.emplace(request.stops, request.include_stop);
  WorkloadItem item;
  item.spec.id = id;
  item.spec.prompt = request.prompt.length;
  item.spec.max_tokens = request.max_tokens;
  item.spec.priority = request.priority;
  item.spec.cache_salt = request.cache_salt;
  item.spec.content = std::move(request.prompt.content);
  item.spec.stat_group = stat_group_for(ClassId{0}, true);
  item.truth.output = Tokens{length_of(request, telling)};
  if (parts_.tells_outputs) item.spec.told_outputs = static_cast<std::int32_t>(item.truth.output.value);
  item.truth.deadline = options_.timeout;
  const std::lock_guard lock(mutex_);
  if (!backend_->submit(std::move(item))) return false;
  tellings_.emplace(id, std::move(telling));
  return true;
}

// When the answer stops by itself; more than it may have: it does not.
std::int64_t SimulatedEngine::length_of(const CompletionRequest& request, Telling telling) const {
  std::int64_t length = request.max_tokens.value + 1;
  if (!request.sampling.ignore_eos && lengths_) {
    const DrawSite site{static_cast<std::uint64_t>(scenario_.spec().seed), telling.text, 0};
    length = std::min(length, std::max(lengths_->lengths(site).output.value, telling.min_tokens));
  }
  if (!telling.stops) return length;
  while (telling.told < length && !telling.stops->matched()) static_cast<void>(telling.next());
  return telling.told;
}

std::string SimulatedEngine::Telling::next() {
  const std::string piece = stand_in_piece(text, told++);
  return stops ? stops->feed(piece, told > min_tokens) : piece;
}

std::string SimulatedEngine::tell(Telling& telling, std::int64_t outputs) {
  std::string text;
  while (telling.told < outputs) text += telling.next();
  return text;
}

void SimulatedEngine::on_outputs(RequestId request, std::int64_t outputs) {
  const std::lock_guard lock(mutex_);
  Telling& telling = tellings_.at(request);
  if (outputs > telling.told) listener_.append(request, tell(telling, outputs), outputs, {});
}

void SimulatedEngine::on_end(const RequestRecord& record) {
  const std::lock_guard lock(mutex_);
  const auto found = tellings_.find(record.id);
  CHECK_INVARIANT(found != tellings_.end(), raw(record.id));
  Telling& telling = found->second;
  std::string text = tell(telling, record.outputs.value);
  if (telling.stops && !telling.stops->matched()) text += telling.stops->finish();
  if (!text.empty()) listener_.append(record.id, text, record.outputs.value, {});
  // The token that completes a stop string may be the last one that was allowed.
  const bool stopped = telling.stops && telling.stops->matched() && is_finished(record.end_state);
  listener_.end(record.id, {stopped ? EndState::kStop : record.end_state, record.end_reason, record.outputs,
                            record.cached});
  tellings_.erase(found);
}

void SimulatedEngine::on_question(RequestId ticket, Time now) {
  recorder_.finish(now, RunState::kInterrupted);
  const ServerLabels labels{card_.id, card_.max_model_len, scenario_.spec().engine.config.block_size};
  listener_.append(ticket, prometheus_text(recorder_, labels), 0, {});
  listener_.end(ticket, {});
}

}  // namespace servetwin
