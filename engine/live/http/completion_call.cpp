// One table row a field: what it may be, in which call, and where it goes.
#include "engine/live/http/completion_call.h"

#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "engine/base/error.h"

namespace servetwin {
namespace {

using Json = nlohmann::json;

[[noreturn]] void refuse(std::string param, std::string message, std::string code = "") {
  ApiError error;
  error.code = std::move(code);
  error.param = std::move(param);
  error.message = std::move(message);
  throw ApiException(std::move(error));
}

// Values whose depth or keys are wrong are refused before they are built any further.
Json parse_body(const std::string& body, const ApiLimits& limits) {
  std::set<std::string> keys;
  const auto check = [&](int depth, Json::parse_event_t event, Json& value) {
    if (depth > limits.max_depth) {
      refuse("", "the body is nested deeper than " + std::to_string(limits.max_depth) + " levels");
    }
    if (event == Json::parse_event_t::key && depth == 1 && !keys.insert(value.get<std::string>()).second) {
      refuse(value.get<std::string>(), "is given twice");
    }
    return true;
  };
  try {
    Json parsed = Json::parse(body, check);
    if (!parsed.is_object()) refuse("", "the body is not a JSON object");
    return parsed;
  } catch (const Json::exception& error) {
    refuse("", std::string("the body is not valid JSON: ") + error.what(), "invalid_json");
  }
}

class CallReader {
 public:
  CallReader(CompletionCall& call, const ApiLimits& limits) : call_(call), limits_(limits) {}

  void read(const Json& body) {
    for (const auto& [name, value] : body.items()) {
      const auto field = fields().find(name);
      if (field == fields().end() || !field->second.may_stand_in(call_.kind)) refuse_unknown(name);
      name_ = name;
      if (!value.is_null()) (this->*field->second.read)(value);
    }
    require(body, "model");
    require_prompt(body);
    if (call_.sampling.min_tokens > call_.max_tokens.value_or(limits_.max_tokens)) {
      refuse("min_tokens", "min_tokens is above max_tokens");
    }
    if (call_.sampling.logprobs < 0 && top_logprobs_) {
      refuse("top_logprobs", "top_logprobs goes only with logprobs: true");
    }
    if (top_logprobs_) call_.sampling.logprobs = *top_logprobs_;
    if (body.contains("stream_options") && !body.at("stream_options").is_null() && !call_.stream) {
      refuse("stream_options", "stream_options goes only with stream: true; usage is in every body anyway");
    }
  }

 private:
  using Read = void (CallReader::*)(const Json&);
  // A set of kinds.
  enum In : unsigned { kChat = 1, kText = 2, kBoth = 3, kTokenize = 4, kDetokenize = 8, kAll = 15 };

  struct Field {
    Read read;
    unsigned in = kBoth;

    bool may_stand_in(CallKind kind) const { return ((in >> static_cast<unsigned>(kind)) & 1U) != 0; }
  };

  static const std::map<std::string, Field>& fields();

  [[noreturn]] void refuse_unknown(const std::string& name) const {
    std::vector<std::string> known;
    for (const auto& [field, facts] : fields()) {
      if (facts.may_stand_in(call_.kind)) known.push_back(field);
    }
    const std::string near = nearest_name(name, known);
    refuse(name, "unknown field " + name + (near.empty() ? "" : "; did you mean " + near + "?"),
           "unknown_field");
  }
  static void require(const Json& body, const char* name) {
    if (!body.contains(name) || body.at(name).is_null()) {
      refuse(name, std::string(name) + " is missing");
    }
  }
  void require_prompt(const Json& body) const {
    switch (call_.kind) {
      case CallKind::kChat:
        return require(body, "messages");
      case CallKind::kText:
        return require(body, "prompt");
      case CallKind::kDetokenize:
        return require(body, "tokens");
      case CallKind::kTokenize:
        break;
    }
    const auto has = [&](const char* name) { return body.contains(name) && !body.at(name).is_null(); };
    if (has("messages") == has("prompt")) {
      refuse("prompt", "prompt or messages is needed, and not both");
    }
  }
  [[noreturn]] void wrong(const std::string& expected) const {
    refuse(name_, name_ + " must be " + expected);
  }

  std::int64_t whole(const Json& value, std::int64_t low, std::int64_t high) const {
    const std::string range = "a whole number from " + std::to_string(low) + " to " + std::to_string(high);
    constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    if (!value.is_number_integer()) wrong(range);
    if (value.is_number_unsigned() && value.get<std::uint64_t>() > kMost) wrong(range);
    const auto number = value.get<std::int64_t>();
    if (number < low || number > high) wrong(range);
    return number;
  }
  double real(const Json& value, double low, double high, const char* range) const {
    if (!value.is_number()) wrong(range);
    const auto number = value.get<double>();
    if (!std::isfinite(number) || number < low || number > high) wrong(range);
    return number;
  }
  bool truth(const Json& value) const {
    if (!value.is_boolean()) wrong("true or false");
    return value.get<bool>();
  }
  std::string text(const Json& value) const {
    if (!value.is_string()) wrong("a string");
    return value.get<std::string>();
  }

  void model(const Json& v) { call_.model = text(v); }
  void max_tokens(const Json& v) {
    const std::int64_t most = whole(v, 1, limits_.max_tokens);
    if (call_.max_tokens.value_or(most) != most) {
      refuse(name_, "max_tokens and max_completion_tokens do not agree");
    }
    call_.max_tokens = most;
  }
  void min_tokens(const Json& v) { call_.sampling.min_tokens = whole(v, 0, limits_.max_tokens); }
  void n(const Json& v) { call_.n = whole(v, 1, limits_.max_n); }
  void temperature(const Json& v) {
    call_.sampling.temperature = static_cast<float>(real(v, 0, 2, "a number from 0 to 2"));
  }
  void top_p(const Json& v) {
    call_.sampling.top_p = real(v, 0, 1, "a number above 0, up to 1");
    if (call_.sampling.top_p <= 0) wrong("a number above 0, up to 1");
  }
  void min_p(const Json& v) { call_.sampling.min_p = real(v, 0, 1, "a number from 0 to 1"); }
  void top_k(const Json& v) {
    const std::int64_t most = whole(v, -1, std::numeric_limits<std::int32_t>::max());
    call_.sampling.top_k = most < 0 ? 0 : static_cast<std::int32_t>(most);
  }
  void frequency_penalty(const Json& v) {
    call_.sampling.frequency_penalty = static_cast<float>(real(v, -2, 2, "a number from -2 to 2"));
  }
  void presence_penalty(const Json& v) {
    call_.sampling.presence_penalty = static_cast<float>(real(v, -2, 2, "a number from -2 to 2"));
  }
  void repetition_penalty(const Json& v) {
    call_.sampling.repetition_penalty = static_cast<float>(real(v, 0, 10, "a number above 0, up to 10"));
    if (call_.sampling.repetition_penalty <= 0) wrong("a number above 0, up to 10");
  }
  void seed(const Json& v) {
    call_.seed = whole(v, std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max());
  }
  void ignore_eos(const Json& v) { call_.sampling.ignore_eos = truth(v); }
  void stream(const Json& v) { call_.stream = truth(v); }
  void include_stop(const Json& v) { call_.include_stop = truth(v); }
  void priority(const Json& v) {
    call_.priority = static_cast<std::int32_t>(
        whole(v, std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()));
  }
  void cache_salt(const Json& v) { call_.cache_salt = text(v); }
  // A truth value for chats, the number of the most likely for texts.
  void logprobs(const Json& v) {
    if (call_.kind == CallKind::kText) {
      call_.sampling.logprobs = static_cast<std::int32_t>(whole(v, 0, limits_.max_text_logprobs));
    } else if (truth(v)) {
      call_.sampling.logprobs = 0;
    }
  }
  void top_logprobs(const Json& v) {
    top_logprobs_ = static_cast<std::int32_t>(whole(v, 0, limits_.max_chat_logprobs));
  }
  void framed(const Json& v) { call_.framed = truth(v); }
  void ignored_text(const Json& v) { static_cast<void>(text(v)); }
  // Clients state these defaults; anything else would be work that is not done.
  void only_false(const Json& v) {
    if (truth(v)) refuse(name_, name_ + " is not supported");
  }
  void only_true(const Json& v) {
    if (!truth(v)) refuse(name_, name_ + " can only be true");
  }
  void response_format(const Json& v) {
    if (v != Json{{"type", "text"}}) refuse(name_, "response_format can only be {\"type\": \"text\"}");
  }

  void stop(const Json& v) {
    const Json list = v.is_string() ? Json::array({v}) : v;
    if (!list.is_array()) wrong("a string or an array of strings");
    if (list.size() > limits_.max_stops) wrong("at most " + std::to_string(limits_.max_stops) + " strings");
    for (const Json& one : list) {
      if (!one.is_string()) wrong("a string or an array of strings");
      const auto stop = one.get<std::string>();
      if (stop.empty() || stop.size() > limits_.max_stop_bytes) {
        wrong("strings of 1 to " + std::to_string(limits_.max_stop_bytes) + " bytes");
      }
      call_.stops.push_back(stop);
    }
  }

  void stream_options(const Json& v) {
    if (!v.is_object()) wrong("an object");
    for (const auto& [name, value] : v.items()) {
      name_ = "stream_options." + name;
      if (name == "include_usage") {
        call_.include_usage = !value.is_null() && truth(value);
      } else if (name == "continuous_usage_stats") {
        call_.continuous_usage = !value.is_null() && truth(value);
      } else {
        refuse(name_, "unknown field " + name_, "unknown_field");
      }
    }
  }

  void messages(const Json& v) {
    const bool counts = v.is_array() && !v.empty() && v.size() <= limits_.max_messages;
    if (!counts) wrong("an array of 1 to " + std::to_string(limits_.max_messages) + " messages");
    std::vector<ChatMessage> messages;
    for (std::size_t i = 0; i < v.size(); ++i) {
      name_ = "messages[" + std::to_string(i) + "]";
      messages.push_back(message(v[i]));
    }
    call_.prompt = std::move(messages);
  }

  ChatMessage message(const Json& v) const {
    static const std::set<std::string> kRoles{"system", "developer", "user", "assistant"};
    if (!v.is_object()) wrong("an object");
    ChatMessage message;
    for (const auto& [name, value] : v.items()) {
      if (name == "role") {
        message.role = text(value);
      } else if (name == "content") {
        message.content = content(value);
      } else if (name != "name") {
        refuse(name_ + "." + name, "unknown field " + name + " of a message", "unknown_field");
      }
    }
    if (kRoles.count(message.role) == 0) refuse(name_ + ".role", "role must be system, user or assistant");
    if (!v.contains("content")) refuse(name_ + ".content", "content is missing");
    return message;
  }

  // A string, or parts of which each is text.
  std::string content(const Json& v) const {
    if (v.is_string()) return v.get<std::string>();
    if (!v.is_array()) wrong("a message whose content is a string or an array of text parts");
    std::string text;
    for (const Json& part : v) {
      const bool is_text = part.is_object() && part.size() == 2 && part.contains("type") &&
                           part["type"] == "text" && part.contains("text") && part["text"].is_string();
      if (!is_text) wrong("a message whose content is a string or an array of text parts");
      text += part["text"].get<std::string>();
    }
    return text;
  }

  void prompt(const Json& v) {
    const bool one_text = v.is_array() && v.size() == 1 && v[0].is_string();
    const bool one_list = v.is_array() && v.size() == 1 && v[0].is_array();
    const Json& single = one_text || one_list ? v[0] : v;
    if (single.is_string()) {
      call_.prompt = single.get<std::string>();
      return;
    }
    if (single.empty()) wrong("a string or an array of token ids, one prompt a request");
    tokens(single);
  }

  void tokens(const Json& v) {
    const char* const kExpected = "an array of token ids, or a string where text is meant";
    if (!v.is_array()) wrong(kExpected);
    std::vector<TokenId> tokens;
    for (const Json& token : v) {
      if (!token.is_number_integer()) wrong(kExpected);
      tokens.push_back(static_cast<TokenId>(whole(token, 0, std::numeric_limits<TokenId>::max())));
    }
    call_.prompt = std::move(tokens);
  }

  CompletionCall& call_;
  const ApiLimits& limits_;
  std::string name_;  // of the field being read
  std::optional<std::int32_t> top_logprobs_;
};

const std::map<std::string, CallReader::Field>& CallReader::fields() {
  using R = CallReader;
  static const std::map<std::string, Field> kFields{
      {"model", {&R::model, kAll}},
      {"messages", {&R::messages, kChat | kTokenize}},
      {"prompt", {&R::prompt, kText | kTokenize}},
      {"tokens", {&R::tokens, kDetokenize}},
      {"add_special_tokens", {&R::framed, kTokenize}},
      {"add_generation_prompt", {&R::only_true, kTokenize}},
      {"max_tokens", {&R::max_tokens}},
      {"max_completion_tokens", {&R::max_tokens, kChat}},
      {"min_tokens", {&R::min_tokens}},
      {"n", {&R::n}},
      {"temperature", {&R::temperature}},
      {"top_p", {&R::top_p}},
      {"top_k", {&R::top_k}},
      {"min_p", {&R::min_p}},
      {"frequency_penalty", {&R::frequency_penalty}},
      {"presence_penalty", {&R::presence_penalty}},
      {"repetition_penalty", {&R::repetition_penalty}},
      {"seed", {&R::seed}},
      {"stop", {&R::stop}},
      {"include_stop_str_in_output", {&R::include_stop}},
      {"ignore_eos", {&R::ignore_eos}},
      {"stream", {&R::stream}},
      {"stream_options", {&R::stream_options}},
      {"priority", {&R::priority}},
      {"cache_salt", {&R::cache_salt}},
      {"user", {&R::ignored_text}},
      {"logprobs", {&R::logprobs}},
      {"top_logprobs", {&R::top_logprobs, kChat}},
      {"echo", {&R::only_false, kText}},
      {"response_format", {&R::response_format, kChat}},
  };
  return kFields;
}

}  // namespace

std::string to_json(const ApiError& error) {
  const auto or_null = [](const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); };
  const nlohmann::ordered_json body{{"error",
                                     {{"message", error.message},
                                      {"type", error.type},
                                      {"param", or_null(error.param)},
                                      {"code", or_null(error.code)}}}};
  return body.dump(-1, ' ', false, Json::error_handler_t::replace);
}

CompletionCall read_call(CallKind kind, const std::string& body, const ApiLimits& limits) {
  CompletionCall call;
  call.kind = kind;
  call.sampling.temperature = 1;  // as OpenAI's, where the call says nothing
  CallReader(call, limits).read(parse_body(body, limits));
  return call;
}

}  // namespace servetwin
