// The body of /v1/chat/completions and /v1/completions, read by an allow list.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/live/http/completion_engine.h"

namespace servetwin {

// An answer other than 200, as OpenAI's error object.
struct ApiError {
  int status = 400;
  std::string type = "invalid_request_error";
  std::string code{};   // empty: null
  std::string param{};  // the field it is about; empty: null
  std::string message{};
  int retry_after_s = 0;  // 0: no such header
};

std::string to_json(const ApiError& error);

class ApiException : public std::runtime_error {
 public:
  explicit ApiException(ApiError error) : std::runtime_error(error.message), error_(std::move(error)) {}
  const ApiError& error() const { return error_; }

 private:
  ApiError error_;
};

// What one request may ask for at most, checked before anything is allocated for it.
struct ApiLimits {
  int max_depth = 64;  // of JSON
  std::int64_t max_n = 8;
  std::int64_t max_tokens = 1 << 20;
  std::size_t max_stops = 4;
  std::size_t max_stop_bytes = 64;
  std::size_t max_messages = 4096;
  std::int64_t max_chat_logprobs = 20;  // of the most likely tokens
  std::int64_t max_text_logprobs = 5;
};

enum class CallKind : std::uint8_t { kChat, kText, kTokenize, kDetokenize };

struct CompletionCall {
  CallKind kind = CallKind::kChat;
  std::string model;
  PromptInput prompt;  // of a kDetokenize: token ids
  bool framed = true;  // of a kTokenize: with what the model wants before and after a text
  std::optional<std::int64_t> max_tokens;
  std::int64_t n = 1;
  SamplingParams sampling;
  std::optional<std::int64_t> seed;
  std::vector<std::string> stops;
  bool include_stop = false;
  std::int32_t priority = 0;
  std::string cache_salt;
  bool stream = false;
  bool include_usage = false;
  bool continuous_usage = false;
};

// Throws ApiException for everything that is not exactly as it should be. Fields that are null count as
// absent.
CompletionCall read_call(CallKind kind, const std::string& body, const ApiLimits& limits);

}  // namespace servetwin
