// The endpoints: who may call what, and what each answers.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "engine/live/http/answer_board.h"
#include "engine/live/http/completion_call.h"
#include "engine/live/http/exchange.h"

namespace servetwin {

struct ApiOptions {
  ApiLimits limits;
  std::string version;                    // of the program
  std::string api_key;                    // empty: everybody may call
  std::int64_t max_answers = 1024;        // answers under way at most, each choice one
  std::int64_t default_max_tokens = 512;  // where a call says nothing, or what the context leaves
};

// start() and error_body() are called by one thread, drain() by any.
class OpenAiApi final : public HttpHandler {
 public:
  // The engine must outlive it and tell board() of its answers.
  OpenAiApi(CompletionEngine& engine, AnswerBoard& board, ApiOptions options);

  std::unique_ptr<HttpExchange> start(const HttpRequest& request, std::function<void()> wake) override;
  std::string error_body(int status, const std::string& message) const override;

  // From now on no completion is begun.
  void drain() { draining_ = true; }
  bool draining() const { return draining_; }

 private:
  struct Route;
  using Wake = std::function<void()>;
  using Answer = std::unique_ptr<HttpExchange> (OpenAiApi::*)(const HttpRequest&, Wake);

  static const Route* find_route(const std::string& path);
  void authorise(const HttpRequest& request) const;
  // A call whose model is the one that is here.
  CompletionCall read(CallKind kind, const HttpRequest& request) const;
  CompletionCall read_for_tokenizer(CallKind kind, const HttpRequest& request) const;
  std::unique_ptr<HttpExchange> completion(CallKind kind, const HttpRequest& request, Wake wake);
  std::unique_ptr<HttpExchange> chat(const HttpRequest& request, Wake wake);
  std::unique_ptr<HttpExchange> text(const HttpRequest& request, Wake wake);
  std::unique_ptr<HttpExchange> models(const HttpRequest& request, Wake wake);
  std::unique_ptr<HttpExchange> health(const HttpRequest& request, Wake wake);
  std::unique_ptr<HttpExchange> ready(const HttpRequest& request, Wake wake);
  std::unique_ptr<HttpExchange> metrics(const HttpRequest& request, Wake wake);
  std::unique_ptr<HttpExchange> version(const HttpRequest& request, Wake wake);
  std::unique_ptr<HttpExchange> tokenize(const HttpRequest& request, Wake wake);
  std::unique_ptr<HttpExchange> detokenize(const HttpRequest& request, Wake wake);

  CompletionEngine& engine_;
  AnswerBoard& board_;
  ApiOptions options_;
  std::int64_t started_;  // seconds since 1970
  std::atomic<bool> draining_{false};
};

}  // namespace servetwin
