// Requests become submissions; their tokens become text on the replica's thread, which also finds stop
// strings.
#include "scenarios/live_engine.h"

#include <algorithm>
#include <utility>

#include "engine/base/check.h"
#include "engine/base/digest.h"
#include "engine/base/error.h"
#include "engine/base/registry.h"
#include "engine/live/http/completion_call.h"
#include "engine/metrics/prometheus_text.h"
#include "engine/metrics/slo.h"
#include "engine/models/computable.h"
#include "engine/serving/kv_windows.h"
#include "engine/serving/preset.h"
#include "kernels/thread_place.h"
#include "scenarios/kv_groups.h"
#include "scenarios/model_source.h"
#include "scenarios/rank_share.h"
#include "scenarios/stand_in_text.h"

namespace servetwin {
namespace {

constexpr const char* kTokenRule = "those of the model's own tokenizer";

ModelSpec servable_model(const std::string& name) {
  ModelSpec spec = named_model(name);
  std::string reason = why_not_computed(spec);
  if (reason.empty()) reason = why_no_weights(name);
  if (reason.empty()) return spec;
  throw ConfigError(Problem{kCodeBadValue, {}, "", name + ": " + reason, kComputedFamilies});
}

// Tokens of the longest request that the pool alone can hold; the null block holds none.
std::int64_t longest_in(const EngineConfig& engine, std::int64_t most) {
  if (engine.kv_groups.empty()) return (engine.num_blocks.value - 1) * engine.block_size.value;
  std::int64_t entries = 0;
  while (entries * engine.block_size.value < most &&
         KvWindows::most(engine, Blocks{entries + 1}) < engine.num_blocks) {
    ++entries;
  }
  return entries * engine.block_size.value;
}

KvGroups groups_of(const ModelSpec& spec) { return windowed_groups(spec, Tokens{spec.max_position}); }

LiveEngineOptions completed_for(const ModelSpec& spec, LiveEngineOptions options) {
  static_cast<void>(rank_spec(spec, {0, options.ranks}, options.layout));  // refuses what does not split
  EngineConfig& engine = options.engine;
  CHECK_INVARIANT(engine.num_blocks > Blocks{1}, engine.num_blocks);
  engine.kv_groups = groups_of(spec).retention;
  const std::int64_t room = longest_in(engine, spec.max_position);
  const std::int64_t most = std::min(spec.max_position, room);
  if (engine.max_model_len.value == 0) engine.max_model_len = Tokens{most};
  if (engine.max_model_len.value > most) {
    throw ConfigError(Problem{kCodeBadValue,
                              {},
                              "",
                              "max_model_len " + std::to_string(engine.max_model_len.value) +
                                  " is beyond the model's context of " + std::to_string(spec.max_position) +
                                  " or the KV cache of " + std::to_string(room) + " tokens",
                              "at most " + std::to_string(most)});
  }
  engine.plain_loop = true;
  engine.hash_seed = options.seed;
  return options;
}

[[noreturn]] void refuse(const char* code, const char* param, std::string message) {
  ApiError error;
  error.code = code;
  error.param = param;
  error.message = std::move(message);
  throw ApiException(std::move(error));
}

struct Tokenized {
  const ModelText& text;
  bool framed;

  std::vector<TokenId> operator()(const std::vector<ChatMessage>& messages) const {
    if (!text.has_chat()) {
      refuse("no_chat_template", "messages", "this model has no chat template: use /v1/completions");
    }
    std::vector<TemplateMessage> copied;
    for (const ChatMessage& message : messages) copied.push_back({message.role, message.content});
    return text.tokenizer().encode(text.prompt_of(copied), {false, true});
  }
  std::vector<TokenId> operator()(const std::string& prompt) const {
    return text.tokenizer().encode(prompt, {framed, true});
  }
  std::vector<TokenId> operator()(const std::vector<TokenId>& tokens) const { return tokens; }
};

// The same call has the same draws, whatever else is served.
std::uint64_t name_of_draws(const CompletionRequest& request) {
  Digest digest;
  digest.add(request.prompt.fingerprint);
  digest.add(request.choice);
  return digest.value();
}

std::int64_t characters_begun(std::string_view bytes) {
  const auto begins = [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U; };
  return std::count_if(bytes.begin(), bytes.end(), begins);
}

}  // namespace

LiveEngineOptions completed(LiveEngineOptions options) {
  const ModelSpec spec = servable_model(options.model);
  return completed_for(spec, std::move(options));
}

// Nobody but clients.
class LiveEngine::Silence final : public RequestSource {
 public:
  Time next_arrival() override { return kTimeNever; }
  void take(WorkloadItem& /*item*/) override {}
  std::string describe() const override { return "clients"; }
  SourceFacts facts() const override { return {}; }
};

LiveEngine::LiveEngine(LiveEngineOptions options, AnswerListener& listener)
    : listener_(listener),
      spec_(servable_model(options.model)),
      weights_(spec_, named_weights(options.model, spec_, options.seed), options.ranks, options.layout),
      text_(named_text(options.model)),
      content_(options.seed, spec_.vocab),
      recorder_(RecorderOptions{}),
      source_(std::make_unique<Silence>()) {
  options_ = completed_for(spec_, std::move(options));
  const EngineConfig& engine = options_.engine;
  card_ = {options_.name.empty() ? options_.model : options_.name, options_.model, engine.max_model_len, true,
           kTokenRule};
  std::vector<Observer*> observers = {&recorder_, this};
  observers.insert(observers.end(), options_.observers.begin(), options_.observers.end());
  cluster_ = std::make_unique<Cluster>(
      ClusterConfig{{engine}, 0}, [] { return make_rules(RuleNames{}); },
      Registry<Router>::instance().make("round_robin", ConfigNode{}), std::move(observers));
  std::vector<std::unique_ptr<ModelRunner>> runners;
  RunnerOptions sizes{engine.block_size, engine.num_blocks,  engine.max_model_len, options_.threads,
                      options_.kv_dtype, engine.host_blocks, options_.cpus};
  sizes.kv_layout = groups_of(spec_).layout;
  sizes.name = card_.id;
  sizes.layout = options_.layout;
  sizes.deadline = options_.deadline;
  sizes.on_step = options_.on_rank_step;
  runners.push_back(
      std::make_unique<ModelRunner>(spec_, weights_.parts(), sizes, content_, ModelRunner::Sink{}));
  LiveOptions live;
  live.accepts_clients = true;
  live.journal = options_.journal;
  backend_ = std::make_unique<LiveBackend>(*source_, std::move(runners), content_, live);
  backend_->attach(*cluster_);
  thread_ = named_thread("core", [this] { run(); });
}

// Whoever waits for an answer is told that it ends, and nobody is let in any more.
void LiveEngine::run() {
  try {
    serve(*cluster_, *backend_);
  } catch (const ExecutionError& error) {
    backend_->close();
    const std::lock_guard lock(mutex_);
    failure_ = error.what();
    for (const auto& [request, answer] : answers_) listener_.end(request, {});
    answers_.clear();
  }
}

std::string LiveEngine::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

std::string LiveEngine::ranks_text() const {
  const EngineConfig& engine = options_.engine;
  const Bytes cache = KvPool::bytes(spec_, engine.num_blocks, engine.block_size, options_.kv_dtype,
                                    groups_of(spec_).layout, options_.ranks);
  return rank_share_text(spec_, {options_.ranks, options_.layout}, stored_bytes(weights_.parts().front()),
                         cache);
}

LiveEngine::~LiveEngine() {
  backend_->stop();
  if (thread_.joinable()) thread_.join();
}

const Cluster& LiveEngine::stop() {
  backend_->close();
  thread_.join();
  return *cluster_;
}

std::vector<TokenId> LiveEngine::tokenize(const PromptInput& input, bool framed) const {
  try {
    return std::visit(Tokenized{text_, framed}, input);
  } catch (const ConfigError& error) {
    const Problem& problem = error.problems().front();
    refuse("invalid_prompt", std::holds_alternative<std::string>(input) ? "prompt" : "messages",
           problem.message);
  }
}

Prompt LiveEngine::prepare(const PromptInput& input) const {
  std::vector<TokenId> tokens = tokenize(input, true);
  for (const TokenId token : tokens) {
    if (token >= 0 && token < spec_.vocab) continue;
    refuse("invalid_token", "prompt",
           "token " + std::to_string(token) + " is none of the model's " + std::to_string(spec_.vocab));
  }
  Prompt prompt = stand_in_prompt(tokens, options_.engine.block_size);
  prompt.tokens = std::move(tokens);
  return prompt;
}

std::string LiveEngine::detokenize(const std::vector<TokenId>& tokens) const {
  return text_.tokenizer().decode(tokens);
}

bool LiveEngine::submit(RequestId id, CompletionRequest request) {
  DetokenizerOptions words;
  words.continues = true;
  words.stop = std::move(request.stops);
  words.include_stop = request.include_stop;
  words.min_tokens = request.sampling.min_tokens;
  Submission submission;
  if (request.seeded) {
    submission.draws = name_of_draws(request);
  } else {
    request.sampling.seed = options_.seed;
  }
  submission.spec.id = id;
  submission.spec.arrival = backend_->now();
  submission.spec.prompt = request.prompt.length;
  submission.spec.max_tokens = request.max_tokens;
  submission.spec.priority = request.priority;
  submission.spec.cache_salt = request.cache_salt;
  submission.spec.content = std::move(request.prompt.content);
  submission.spec.stat_group = stat_group_for(ClassId{0}, true);
  submission.prompt = std::move(request.prompt.tokens);
  submission.sampling = std::move(request.sampling);
  submission.sampling.eos_ids = text_.ends();
  submission.listener = [this](const OutputToken& output) { return hear(output); };
  const bool reports = submission.sampling.logprobs >= 0;
  const std::lock_guard lock(mutex_);
  if (!backend_->post(std::move(submission))) return false;
  answers_.emplace(id, Answer{Detokenizer(text_.tokenizer(), std::move(words)), 0, reports});
  return true;
}

// On the replica's thread. Outputs that were discarded come again, and are the same again.
bool LiveEngine::hear(const OutputToken& output) {
  const std::lock_guard lock(mutex_);
  const auto found = answers_.find(output.request);
  if (found == answers_.end()) return false;
  Answer& answer = found->second;
  if (output.index < answer.told) return answer.detokenizer.stopped() && output.index + 1 == answer.told;
  CHECK_INVARIANT(output.index == answer.told, raw(output.request), output.index, answer.told);
  ++answer.told;
  TokenReports reports;
  if (answer.reports) reports.push_back(report(answer, output.sampled));
  listener_.append(output.request, answer.detokenizer.feed(output.sampled.token), answer.told,
                   std::move(reports));
  return answer.detokenizer.stopped();
}

NamedLogprob LiveEngine::named(TokenId token, float logprob) const {
  NamedLogprob named{token, std::nullopt, logprob};
  const TokenPiece* piece = text_.tokenizer().piece(token);
  if (piece != nullptr && !piece->bytes.empty()) named.bytes = piece->bytes;
  return named;
}

TokenReport LiveEngine::report(Answer& answer, const SampledToken& sampled) const {
  TokenReport report{named(sampled.token, sampled.logprob), {}, answer.characters};
  for (const TokenLogprob& one : sampled.top) report.top.push_back(named(one.token, one.logprob));
  const TokenPiece* piece = text_.tokenizer().piece(sampled.token);
  if (piece != nullptr && !piece->special) answer.characters += characters_begun(piece->bytes);
  return report;
}

void LiveEngine::on_end(const RequestRecord& record) {
  const std::lock_guard lock(mutex_);
  const auto found = answers_.find(record.id);
  CHECK_INVARIANT(found != answers_.end(), raw(record.id));
  Detokenizer& detokenizer = found->second.detokenizer;
  const bool stopped = detokenizer.stopped() && is_finished(record.end_state);
  const std::string rest = detokenizer.stopped() ? "" : detokenizer.finish();
  if (!rest.empty()) listener_.append(record.id, rest, record.outputs.value, {});
  listener_.end(record.id, {stopped ? EndState::kStop : record.end_state, record.end_reason, record.outputs,
                            record.cached});
  answers_.erase(found);
}

bool LiveEngine::scrape(RequestId id) {
  return backend_->ask([this, id](Time now) { answer_scrape(id, now); });
}

void LiveEngine::answer_scrape(RequestId ticket, Time now) {
  recorder_.finish(now, RunState::kInterrupted);
  const ServerLabels labels{card_.id, card_.max_model_len, options_.engine.block_size};
  listener_.append(ticket, prometheus_text(recorder_, labels), 0, {});
  listener_.end(ticket, {});
}

}  // namespace servetwin
