// The JSON that clients get: chunks, whole answers, lists.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/live/http/completion_call.h"

namespace servetwin {

// What all objects of one answer have in common.
struct AnswerLabel {
  CallKind kind = CallKind::kChat;
  std::string id;
  std::int64_t created = 0;  // seconds since 1970
  std::string model;
};

struct Usage {
  std::int64_t prompt = 0;
  std::int64_t completion = 0;
  std::int64_t cached = 0;
};

struct WholeChoice {
  std::string text;
  std::string finish_reason;
  std::optional<TokenReports> logprobs{};  // where the call asked for them
};

// As clients of OpenAI and vLLM know it; empty for an answer that did not come about.
std::string finish_reason(EndState state);

// What a chunk adds to a choice. An empty finish reason: more follows.
struct ChunkDelta {
  std::int64_t index = 0;
  bool opens = false;  // the first of a chat answer: tells the role
  std::string text;
  std::string finish_reason;
  std::optional<TokenReports> logprobs{};  // of the tokens it adds, where the call asked for them
};

// Frames of server-sent events. `usage` may be null.
std::string chunk_event(const AnswerLabel& label, const ChunkDelta& delta, const Usage* usage);
std::string usage_event(const AnswerLabel& label, const Usage& usage);
std::string error_event(const ApiError& error);
inline constexpr const char* kDoneEvent = "data: [DONE]\n\n";

std::string whole_answer(const AnswerLabel& label,
                         const std::vector<WholeChoice>& choices,
                         const Usage& usage);
std::string model_list(const ModelCard& card, std::int64_t created);
std::string version_object(const std::string& version);
std::string tokens_object(const std::vector<TokenId>& tokens, Tokens max_model_len);
std::string prompt_object(const std::string& text);

}  // namespace servetwin
