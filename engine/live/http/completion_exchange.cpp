// Takes what the board has, and makes events or one object of it.
#include "engine/live/http/completion_exchange.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "engine/base/digest.h"

namespace servetwin {
namespace {

constexpr int kRetryAfter = 1;  // seconds

std::int64_t seconds_since_1970() {
  using namespace std::chrono;
  return duration_cast<seconds>(system_clock::now().time_since_epoch()).count();
}

std::uint64_t digest_of(const std::string& text) {
  Digest digest;
  for (const char c : text) digest.add(static_cast<unsigned char>(c));
  return digest.value();
}

ApiError no_room() {
  ApiError error{429, "rate_limit_error", "queue_full", "", "too many requests wait already", kRetryAfter};
  return error;
}

ApiError error_of(const AnswerEnd& end) {
  if (end.reason == EndReason::kQueueFull) return no_room();
  if (end.state == EndState::kRejected) {
    return {400, "invalid_request_error", to_string(end.reason), "", "the prompt can never be served"};
  }
  return {500, "server_error", to_string(end.reason), "", "the request failed in the engine"};
}

}  // namespace

CompletionExchange::CompletionExchange(CompletionEngine& engine,
                                       AnswerBoard& board,
                                       CompletionCall call,
                                       Prompt prompt,
                                       std::function<void()> wake)
    : engine_(engine), board_(board), call_(std::move(call)), prompt_tokens_(prompt.length.value) {
  const RequestId first = engine_.new_id();
  label_.kind = call_.kind;
  label_.id = (call_.kind == CallKind::kChat ? "chatcmpl-" : "cmpl-") + std::to_string(raw(first));
  label_.created = seconds_since_1970();
  label_.model = call_.model;
  choices_.resize(static_cast<std::size_t>(call_.n));
  choices_.front().id = first;
  submit(std::move(prompt), wake);
}

void CompletionExchange::submit(Prompt prompt, const std::function<void()>& wake) {
  CompletionRequest request;
  request.prompt = std::move(prompt);
  request.max_tokens = Tokens{*call_.max_tokens};
  request.sampling = call_.sampling;
  request.sampling.seed = static_cast<std::uint64_t>(call_.seed.value_or(0));
  request.seeded = call_.seed.has_value();
  request.stops = call_.stops;
  request.include_stop = call_.include_stop;
  request.priority = call_.priority;
  if (!call_.cache_salt.empty()) request.cache_salt = digest_of(call_.cache_salt);
  for (std::size_t i = 0; i < choices_.size(); ++i) {
    Choice& choice = choices_[i];
    if (i > 0) choice.id = engine_.new_id();
    request.choice = static_cast<std::uint32_t>(i);
    board_.open(choice.id, wake);
    if (engine_.submit(choice.id, request)) continue;
    board_.close(choice.id);
    choices_.resize(i);
    give_up();
    throw ApiException(no_room());
  }
}

CompletionExchange::~CompletionExchange() { give_up(); }

// Clients of several choices lose all of them at once.
void CompletionExchange::give_up() {
  for (Choice& choice : choices_) {
    board_.close(choice.id);
    if (!choice.end) engine_.cancel(choice.id);
  }
}

void CompletionExchange::collect() {
  for (Choice& choice : choices_) {
    if (choice.end) continue;
    AnswerDelta delta = board_.take(choice.id);
    choice.text += delta.text;
    std::move(delta.reports.begin(), delta.reports.end(), std::back_inserter(choice.reports));
    choice.tokens = delta.tokens;
    choice.end = delta.end;
    if (choice.end) finish_reason_ = finish_reason(choice.end->state);
  }
}

bool CompletionExchange::all_ended() const {
  return std::all_of(choices_.begin(), choices_.end(), [](const Choice& c) { return c.end.has_value(); });
}

std::optional<ApiError> CompletionExchange::failure() const {
  for (const Choice& choice : choices_) {
    if (choice.end && finish_reason(choice.end->state).empty()) return error_of(*choice.end);
  }
  return std::nullopt;
}

Usage CompletionExchange::usage() const {
  Usage usage{prompt_tokens_, 0, 0};
  for (const Choice& choice : choices_) usage.completion += choice.tokens;
  const std::optional<AnswerEnd>& first = choices_.front().end;
  if (first) usage.cached = first->cached.value;
  return usage;
}

ExchangeFacts CompletionExchange::facts() const {
  return {prompt_tokens_, usage().completion, finish_reason_};
}

HttpPart CompletionExchange::poll() {
  collect();
  const std::optional<ApiError> error = failure();
  if (!error) return call_.stream ? stream() : whole();
  HttpPart part;
  part.last = true;
  if (head_sent_) {
    part.body = error_event(*error) + kDoneEvent;
    return part;
  }
  part.head = HttpHead{error->status, "application/json", {}, false};
  if (error->retry_after_s > 0) {
    part.head->headers.emplace_back("Retry-After", std::to_string(error->retry_after_s));
  }
  part.body = to_json(*error);
  return part;
}

HttpPart CompletionExchange::whole() {
  HttpPart part;
  if (!all_ended()) return part;
  std::vector<WholeChoice> choices;
  for (Choice& choice : choices_) {
    choices.push_back({std::move(choice.text), finish_reason(choice.end->state), take_reports(choice)});
  }
  part.head = HttpHead{};
  part.body = whole_answer(label_, choices, usage());
  part.last = true;
  return part;
}

// The head waits for the first token or end, so that a full queue is still a status of its own.
HttpPart CompletionExchange::stream() {
  HttpPart part;
  for (std::size_t i = 0; i < choices_.size(); ++i) stream_choice(i, part.body);
  if (part.body.empty() && !all_ended()) return part;
  if (!std::exchange(head_sent_, true)) {
    part.head = HttpHead{200, "text/event-stream; charset=utf-8", {{"Cache-Control", "no-cache"}}, true};
  }
  if (!all_ended()) return part;
  if (call_.include_usage) part.body += usage_event(label_, usage());
  part.body += kDoneEvent;
  part.last = true;
  return part;
}

void CompletionExchange::stream_choice(std::size_t index, std::string& out) {
  Choice& choice = choices_[index];
  const bool has_more = !choice.text.empty() || !choice.reports.empty();
  if (choice.closed || (!has_more && !choice.end)) return;
  const auto number = static_cast<std::int64_t>(index);
  if (!std::exchange(choice.opened, true) && call_.kind == CallKind::kChat) {
    out += chunk({number, true, "", ""});
  }
  if (has_more) out += chunk({number, false, std::exchange(choice.text, {}), "", take_reports(choice)});
  if (!choice.end) return;
  out += chunk({number, false, "", finish_reason(choice.end->state)});
  choice.closed = true;
}

std::optional<TokenReports> CompletionExchange::take_reports(Choice& choice) const {
  if (call_.sampling.logprobs < 0) return std::nullopt;
  return std::exchange(choice.reports, {});
}

std::string CompletionExchange::chunk(const ChunkDelta& delta) const {
  if (!call_.continuous_usage) return chunk_event(label_, delta, nullptr);
  const Usage now = usage();
  return chunk_event(label_, delta, &now);
}

}  // namespace servetwin
