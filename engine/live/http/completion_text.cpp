// Objects in the order of keys that the API's documentation shows.
#include "engine/live/http/completion_text.h"

#include <nlohmann/json.hpp>

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
  choice["logprobs"] = nullptr;
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
    choice["logprobs"] = nullptr;
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
