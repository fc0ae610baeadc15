// A table of routes; everything that is not in it does not exist.
#include "engine/live/http/openai_api.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "engine/live/http/completion_exchange.h"
#include "engine/live/http/completion_text.h"

namespace servetwin {
namespace {

constexpr int kDrainRetryAfter = 5;  // seconds

std::unique_ptr<HttpExchange> ready_answer(int status,
                                           std::string body,
                                           const char* type = "application/json") {
  return std::make_unique<ReadyExchange>(HttpHead{status, type, {}, false}, std::move(body));
}

std::unique_ptr<HttpExchange> refusal(const ApiError& error) {
  HttpHead head{error.status, "application/json", {}, false};
  if (error.retry_after_s > 0) head.headers.emplace_back("Retry-After", std::to_string(error.retry_after_s));
  if (error.status == 401) head.headers.emplace_back("WWW-Authenticate", "Bearer");
  return std::make_unique<ReadyExchange>(std::move(head), to_json(error));
}

[[noreturn]] void refuse(int status, const char* code, std::string param, std::string message) {
  ApiError error;
  error.status = status;
  error.code = code;
  error.param = std::move(param);
  error.message = std::move(message);
  throw ApiException(std::move(error));
}

// Takes the same time for every key of one length.
bool same_secret(const std::string& a, const std::string& b) {
  unsigned difference = a.size() == b.size() ? 0U : 1U;
  for (std::size_t i = 0; i < a.size() && !b.empty(); ++i) {
    difference |=
        static_cast<unsigned>(static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i % b.size()]));
  }
  return difference == 0;
}

void check_json(const HttpRequest& request) {
  if (request.content_type.empty() || request.content_type.rfind("application/json", 0) == 0) return;
  refuse(415, "unsupported_media_type", "", "the body must be JSON: Content-Type: application/json");
}

// A scrape is an answer whose text is the metrics.
class MetricsExchange final : public HttpExchange {
 public:
  MetricsExchange(CompletionEngine& engine, AnswerBoard& board, std::function<void()> wake)
      : board_(board), id_(engine.new_id()) {
    board_.open(id_, std::move(wake));
    if (engine.scrape(id_)) return;
    board_.close(id_);
    refuse(503, "overloaded", "", "the engine takes no messages at the moment");
  }
  ~MetricsExchange() override { board_.close(id_); }
  MetricsExchange(const MetricsExchange&) = delete;
  MetricsExchange& operator=(const MetricsExchange&) = delete;

  HttpPart poll() override {
    AnswerDelta delta = board_.take(id_);
    text_ += delta.text;
    HttpPart part;
    if (!delta.end) return part;
    part.head = HttpHead{200, "text/plain; version=0.0.4; charset=utf-8", {}, false};
    part.body = std::move(text_);
    part.last = true;
    return part;
  }

 private:
  AnswerBoard& board_;
  RequestId id_;
  std::string text_;
};

}  // namespace

struct OpenAiApi::Route {
  const char* path;
  const char* method;
  Answer answer;
  bool open = false;  // needs no key
};

const OpenAiApi::Route* OpenAiApi::find_route(const std::string& path) {
  static const std::array<Route, 9> kRoutes{{{"/v1/chat/completions", "POST", &OpenAiApi::chat},
                                             {"/v1/completions", "POST", &OpenAiApi::text},
                                             {"/v1/models", "GET", &OpenAiApi::models},
                                             {"/health", "GET", &OpenAiApi::health, true},
                                             {"/health/ready", "GET", &OpenAiApi::ready, true},
                                             {"/metrics", "GET", &OpenAiApi::metrics},
                                             {"/version", "GET", &OpenAiApi::version},
                                             {"/tokenize", "POST", &OpenAiApi::tokenize},
                                             {"/detokenize", "POST", &OpenAiApi::detokenize}}};
  const auto found =
      std::find_if(kRoutes.begin(), kRoutes.end(), [&](const Route& route) { return path == route.path; });
  return found == kRoutes.end() ? nullptr : &*found;
}

OpenAiApi::OpenAiApi(CompletionEngine& engine, AnswerBoard& board, ApiOptions options)
    : engine_(engine), board_(board), options_(std::move(options)) {
  using namespace std::chrono;
  started_ = duration_cast<seconds>(system_clock::now().time_since_epoch()).count();
}

std::string OpenAiApi::error_body(int status, const std::string& message) const {
  ApiError error;
  error.status = status;
  if (status >= 500) error.type = "server_error";
  error.message = message;
  return to_json(error);
}

std::unique_ptr<HttpExchange> OpenAiApi::start(const HttpRequest& request, std::function<void()> wake) {
  try {
    const Route* route = find_route(request.path);
    if (route == nullptr || !route->open) authorise(request);
    if (route == nullptr) refuse(404, "not_found", "", "there is no " + request.path);
    if (request.method != route->method) {
      refuse(405, "method_not_allowed", "", request.path + " takes " + route->method);
    }
    return (this->*route->answer)(request, std::move(wake));
  } catch (const ApiException& exception) {
    return refusal(exception.error());
  }
}

void OpenAiApi::authorise(const HttpRequest& request) const {
  if (options_.api_key.empty()) return;
  const std::string kBearer = "Bearer ";
  const bool bears = request.authorization.rfind(kBearer, 0) == 0;
  if (bears && same_secret(request.authorization.substr(kBearer.size()), options_.api_key)) return;
  refuse(401, "invalid_api_key", "", "a valid key is needed: Authorization: Bearer KEY");
}

CompletionCall OpenAiApi::read(CallKind kind, const HttpRequest& request) const {
  check_json(request);
  CompletionCall call = read_call(kind, request.body, options_.limits);
  if (call.model == engine_.card().id) return call;
  refuse(404, "model_not_found", "model",
         "there is no model " + call.model + " here, only " + engine_.card().id);
}

std::unique_ptr<HttpExchange> OpenAiApi::completion(CallKind kind, const HttpRequest& request, Wake wake) {
  if (draining_) {
    throw ApiException(
        {503, "server_error", "draining", "", "the server is shutting down", kDrainRetryAfter});
  }
  CompletionCall call = read(kind, request);
  const ModelCard& card = engine_.card();
  if (call.sampling.logprobs >= 0 && !card.has_tokenizer) {
    refuse(400, "no_logprobs", "logprobs", "answers are simulated here: their tokens have no probabilities");
  }
  Prompt prompt = engine_.prepare(call.prompt);
  if (prompt.length.value == 0) refuse(400, "empty_prompt", "prompt", "the prompt is empty");
  const std::int64_t room = (card.max_model_len - prompt.length).value;
  if (room < 1) {
    refuse(400, "context_length_exceeded", kind == CallKind::kChat ? "messages" : "prompt",
           "the prompt has " + std::to_string(prompt.length.value) + " tokens, and prompt and answer " +
               "together have at most " + std::to_string(card.max_model_len.value));
  }
  call.max_tokens = std::min(call.max_tokens.value_or(options_.default_max_tokens), room);
  if (static_cast<std::int64_t>(board_.size()) + call.n > options_.max_answers) {
    throw ApiException({429, "rate_limit_error", "too_many_requests", "",
                        "more than " + std::to_string(options_.max_answers) + " answers are under way", 1});
  }
  return std::make_unique<CompletionExchange>(engine_, board_, std::move(call), std::move(prompt),
                                              std::move(wake));
}

std::unique_ptr<HttpExchange> OpenAiApi::chat(const HttpRequest& request, Wake wake) {
  return completion(CallKind::kChat, request, std::move(wake));
}

std::unique_ptr<HttpExchange> OpenAiApi::text(const HttpRequest& request, Wake wake) {
  return completion(CallKind::kText, request, std::move(wake));
}

std::unique_ptr<HttpExchange> OpenAiApi::models(const HttpRequest& /*request*/, Wake /*wake*/) {
  return ready_answer(200, model_list(engine_.card(), started_));
}

std::unique_ptr<HttpExchange> OpenAiApi::health(const HttpRequest& /*request*/, Wake /*wake*/) {
  return ready_answer(200, "{\"status\":\"ok\"}");
}

std::unique_ptr<HttpExchange> OpenAiApi::ready(const HttpRequest& /*request*/, Wake /*wake*/) {
  if (draining_) return ready_answer(503, "{\"status\":\"draining\"}");
  return ready_answer(200, "{\"status\":\"ready\"}");
}

std::unique_ptr<HttpExchange> OpenAiApi::metrics(const HttpRequest& /*request*/, Wake wake) {
  return std::make_unique<MetricsExchange>(engine_, board_, std::move(wake));
}

std::unique_ptr<HttpExchange> OpenAiApi::version(const HttpRequest& /*request*/, Wake /*wake*/) {
  return ready_answer(200, version_object(options_.version));
}

CompletionCall OpenAiApi::read_for_tokenizer(CallKind kind, const HttpRequest& request) const {
  if (engine_.card().has_tokenizer) return read(kind, request);
  refuse(501, "no_tokenizer", "",
         request.path + " needs a tokenizer, and none is attached: " + engine_.card().tokens);
}

std::unique_ptr<HttpExchange> OpenAiApi::tokenize(const HttpRequest& request, Wake /*wake*/) {
  const CompletionCall call = read_for_tokenizer(CallKind::kTokenize, request);
  const std::vector<TokenId> tokens = engine_.tokenize(call.prompt, call.framed);
  return ready_answer(200, tokens_object(tokens, engine_.card().max_model_len));
}

std::unique_ptr<HttpExchange> OpenAiApi::detokenize(const HttpRequest& request, Wake /*wake*/) {
  const CompletionCall call = read_for_tokenizer(CallKind::kDetokenize, request);
  return ready_answer(200, prompt_object(engine_.detokenize(std::get<std::vector<TokenId>>(call.prompt))));
}

}  // namespace servetwin
