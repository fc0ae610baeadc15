// A completion request from its call to the last byte of its answer, streamed or whole.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/live/http/answer_board.h"
#include "engine/live/http/completion_text.h"
#include "engine/live/http/exchange.h"

namespace servetwin {

class CompletionExchange final : public HttpExchange {
 public:
  // Submits one request a choice; `headers` go with the answer. Throws ApiException when the engine has no
  // room. Engine and board must outlive it.
  CompletionExchange(CompletionEngine& engine,
                     AnswerBoard& board,
                     CompletionCall call,
                     Prompt prompt,
                     std::function<void()> wake);
  ~CompletionExchange() override;
  CompletionExchange(const CompletionExchange&) = delete;
  CompletionExchange& operator=(const CompletionExchange&) = delete;

  HttpPart poll() override;
  ExchangeFacts facts() const override;

 private:
  struct Choice {
    RequestId id = kNoRequest;
    bool opened = false;  // its first chunk was sent
    std::int64_t tokens = 0;
    std::string text;  // not sent
    TokenReports reports;
    std::optional<AnswerEnd> end;
    bool closed = false;  // its last chunk was sent
  };

  void submit(Prompt prompt, const std::function<void()>& wake);
  void give_up();
  void collect();
  bool all_ended() const;
  // Nothing was sent and nothing will be: a choice was turned away or failed.
  std::optional<ApiError> failure() const;
  Usage usage() const;
  HttpPart whole();
  HttpPart stream();
  void stream_choice(std::size_t index, std::string& out);
  std::string chunk(const ChunkDelta& delta) const;
  // What was reported and not sent; nothing where the call did not ask.
  std::optional<TokenReports> take_reports(Choice& choice) const;

  CompletionEngine& engine_;
  AnswerBoard& board_;
  CompletionCall call_;
  AnswerLabel label_;
  std::int64_t prompt_tokens_;
  std::vector<Choice> choices_;
  bool head_sent_ = false;
  std::string finish_reason_;  // of the last choice, for the log
};

}  // namespace servetwin
