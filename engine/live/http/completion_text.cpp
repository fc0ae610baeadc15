// Objects in the order of keys that the API's documentation shows.
#include "engine/live/http/completion_text.h"

#include <nlohmann/json.hpp>

#include "engine/models/tokenizer/utf8.h"

namespace servetwin {
namespace {

using Json = nlohmann::ordered_json;

std::string text_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

std::string event(const Json& json) { return "data: " + text_of(json) + "\n\n"; }

Json label_object(const AnswerLabel& label, bool chunk) {
  std::string object = "text_completion";
  if (label.kind == CallKind::kChat) object = chunk ? "chat.completion.chunk" : "chat.completion";
  return {{"id", label.id}, {"object", object}, {"created", label.created}, {"model", label.model}};
}

Json usage_object(const Usage& usage) {
  return {{"prompt_tokens", usage.prompt},
          {"completion_tokens", usage.completion},
          {"total_tokens", usage.prompt + usage.completion},
          {"prompt_tokens_details", {{"cached_tokens", usage.cached}}}};
}

bool is_utf8(std::string_view bytes) {
  while (!bytes.empty()) {
    const Utf8Step step = next_utf8(bytes);
    if (!step.valid) return false;
    bytes.remove_prefix(step.length);
  }
  return true;
}

// Part of a character is written byte by byte, with a mark before it where no other field has the bytes.
std::string token_name(const NamedLogprob& one, const char* mark) {
  if (!one.bytes) return "token_id:" + std::to_string(one.token);
  if (is_utf8(*one.bytes)) return *one.bytes;
  std::string name = mark;
  for (const char byte : *one.bytes) {
    constexpr const char* kDigits = "0123456789abcdef";
    const auto value = static_cast<unsigned char>(byte);
    name += {'\\', 'x', kDigits[value >> 4U], kDigits[value & 15U]};
  }
  return name;
}

Json chat_logprob(const NamedLogprob& one) {
  Json bytes;
  if (one.bytes) bytes = std::vector<unsigned char>(one.bytes->begin(), one.bytes->end());
  return {{"token", token_name(one, "")}, {"logprob", one.logprob}, {"bytes", bytes}};
}

Json chat_logprobs(const TokenReports& reports) {
  Json content = Json::array();
  for (const TokenReport& report : reports) {
    Json one = chat_logprob(report.chosen);
    one["top_logprobs"] = Json::array();
    for (const NamedLogprob& other : report.top) one["top_logprobs"].push_back(chat_logprob(other));
    content.push_back(std::move(one));
  }
  return {{"content", content}, {"refusal", nullptr}};
}

// Of equal names the first, which is the more likely, stays.
Json text_logprobs(const TokenReports& reports) {
  constexpr const char* kMark = "bytes:";
  Json lists{{"tokens", Json::array()},
             {"token_logprobs", Json::array()},
             {"top_logprobs", Json::array()},
             {"text_offset", Json::array()}};
  for (const TokenReport& report : reports) {
    Json top = Json::object();
    for (const NamedLogprob& one : report.top) top.emplace(token_name(one, kMark), one.logprob);
    top.emplace(token_name(report.chosen, kMark), report.chosen.logprob);
    lists["tokens"].push_back(token_name(report.chosen, kMark));
    lists["token_logprobs"].push_back(report.chosen.logprob);
    lists["top_logprobs"].push_back(std::move(top));
    lists["text_offset"].push_back(report.offset);
  }
  return lists;
}

Json logprobs_object(CallKind kind, const std::optional<TokenReports>& reports) {
  if (!reports) return nullptr;
  return kind == CallKind::kChat ? chat_logprobs(*reports) : text_logprobs(*reports);
}

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

}  // namespace

std::string finish_reason(EndState state) {
  switch (state) {
    case EndState::kStop:
      return "stop";
    case EndState::kLength:
      return "length";
    case EndState::kCancelled:
    case EndState::kTimedOut:
      return "abort";
    case EndState::kRejected:
    case EndState::kFailed:
      break;
  }
  return "";
}

std::string chunk_event(const AnswerLabel& label, const ChunkDelta& delta, const Usage* usage) {
  Json choice{{"index", delta.index}};
  if (label.kind == CallKind::kText) {
    choice["text"] = delta.text;
  } else if (delta.opens) {
    choice["delta"] = {{"role", "assistant"}, {"content", delta.text}};
  } else if (delta.finish_reason.empty()) {
    choice["delta"] = {{"content", delta.text}};
  } else {
    choice["delta"] = Json::object();
  }
  choice["logprobs"] = logprobs_object(label.kind, delta.logprobs);
  choice["finish_reason"] = text_or_null(delta.finish_reason);
  Json chunk = label_object(label, true);
  chunk["choices"] = Json::array({choice});
  if (usage != nullptr) chunk["usage"] = usage_object(*usage);
  return event(chunk);
}

std::string usage_event(const AnswerLabel& label, const Usage& usage) {
  Json chunk = label_object(label, true);
  chunk["choices"] = Json::array();
  chunk["usage"] = usage_object(usage);
  return event(chunk);
}

std::string error_event(const ApiError& error) { return "data: " + to_json(error) + "\n\n"; }

std::string whole_answer(const AnswerLabel& label,
                         const std::vector<WholeChoice>& choices,
                         const Usage& usage) {
  Json answer = label_object(label, false);
  answer["choices"] = Json::array();
  for (std::size_t i = 0; i < choices.size(); ++i) {
    Json choice{{"index", i}};
    if (label.kind == CallKind::kText) {
      choice["text"] = choices[i].text;
    } else {
      choice["message"] = {{"role", "assistant"}, {"content", choices[i].text}};
    }
    choice["logprobs"] = logprobs_object(label.kind, choices[i].logprobs);
    choice["finish_reason"] = choices[i].finish_reason;
    answer["choices"].push_back(choice);
  }
  answer["usage"] = usage_object(usage);
  return text_of(answer);
}

std::string model_list(const ModelCard& card, std::int64_t created) {
  const Json model{{"id", card.id},
                   {"object", "model"},
                   {"created", created},
                   {"owned_by", "servetwin"},
                   {"root", card.root},
                   {"parent", nullptr},
                   {"max_model_len", card.max_model_len.value},
                   {"prompt_tokens_are", card.tokens}};
  return text_of({{"object", "list"}, {"data", Json::array({model})}});
}

std::string tokens_object(const std::vector<TokenId>& tokens, Tokens max_model_len) {
  return text_of({{"count", tokens.size()},
                  {"max_model_len", max_model_len.value},
                  {"tokens", tokens},
                  {"token_strs", nullptr}});
}

std::string prompt_object(const std::string& text) { return text_of({{"prompt", text}}); }

std::string version_object(const std::string& version) { return text_of({{"version", version}}); }

}  // namespace servetwin
