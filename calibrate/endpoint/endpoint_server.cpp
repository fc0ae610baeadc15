// Servers differ in which fields they take, and refuse the others: the richest call that is answered is used.
#include "calibrate/endpoint/endpoint_server.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

namespace servetwin {
namespace {

using Json = nlohmann::json;

constexpr const char* kMetrics = "/metrics";
constexpr const char* kNoToken = "holds no token";

std::string string_of(const Json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  const bool is_text = object.is_object() && found != object.end() && found->is_string();
  return is_text ? found->get<std::string>() : "";
}

std::string name_list(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + printable(name);
  return text;
}

// The richest first: token ids are exact, and a count with each event tells merged tokens apart.
std::vector<Dialect> dialects(const std::string& model) {
  std::vector<Dialect> all;
  for (const PromptForm form : {PromptForm::kTokenIds, PromptForm::kText, PromptForm::kChat}) {
    for (const int fewer : {0, 1, 2, 3}) {
      Dialect one;
      one.model = model;
      one.form = form;
      one.counts_each_event = fewer < 1;
      one.ignores_eos = fewer < 2;
      one.counts = fewer < 3;
      all.push_back(one);
    }
  }
  return all;
}

}  // namespace

EndpointServer::EndpointServer(const EndpointAddress& address, const EndpointOptions& options)
    : client_(address, options.api_key, options.stop), options_(options) {
  read_models(options.model);
  read_version();
  const auto metrics_now = metrics();
  has_metrics_ = metrics_now.has_value();
  if (metrics_now && metrics_now->engines > 1) {
    refuse_endpoint(address,
                    std::to_string(metrics_now->engines) +
                        " engines answer there, and nobody knows which of them computes what",
                    "start it with one engine, or name the port of one of them");
  }
  negotiate();
  if (dialect_.form != PromptForm::kTokenIds) measure_words();
}

void EndpointServer::read_models(const std::string& wanted) {
  const HttpAnswer answer = client_.get("/v1/models");
  if (answer.end == CallEnd::kNotConnected) {
    refuse_endpoint(address(), "does not take connections", "start the server, or check host and port");
  }
  if (answer.status == 401 || answer.status == 403) {
    refuse_endpoint(address(), answer.problem(),
                    "put the server's key into a variable and name it: "
                    "--api-key-env NAME");
  }
  const Json json = Json::parse(answer.body(), nullptr, false);
  std::vector<std::string> names;
  if (answer.ok() && json.is_object() && json.contains("data") && json["data"].is_array()) {
    for (const Json& one : json["data"]) names.push_back(string_of(one, "id"));
  }
  dialect_.model = wanted.empty() && names.size() == 1 ? names.front() : wanted;
  if (dialect_.model.empty()) {
    const std::string said = answer.ok() ? "serves " + std::to_string(names.size()) + " models" +
                                               (names.empty() ? "" : ": " + name_list(names))
                                         : "does not list its models: " + answer.problem();
    refuse_endpoint(address(), said, "name the model: --model NAME");
  }
  const auto place = std::find(names.begin(), names.end(), dialect_.model);
  if (!names.empty() && place == names.end()) {
    refuse_endpoint(address(), "has no model " + dialect_.model + ", but " + name_list(names),
                    "name one of these with --model");
  }
  if (names.empty()) return;
  const Json& card = json["data"][static_cast<std::size_t>(place - names.begin())];
  for (const char* key : {"max_model_len", "context_length", "max_context_length"}) {
    if (card.contains(key) && card[key].is_number_integer()) max_model_len_ = card[key].get<std::int64_t>();
  }
}

void EndpointServer::read_version() {
  const HttpAnswer answer = client_.get("/version");
  const Json json = Json::parse(answer.body(), nullptr, false);
  const std::string text = answer.ok() ? string_of(json, "version") : "";
  if (!text.empty()) version_ = printable(text);
}

std::optional<ServerMetrics> EndpointServer::metrics() const {
  const HttpAnswer answer = client_.get(kMetrics);
  if (!answer.ok()) return std::nullopt;
  const ServerMetrics metrics = server_metrics(answer.body());
  if (metrics.engines == 0 && !metrics.kv_usage && !metrics.steps) return std::nullopt;
  return metrics;
}

TimedAnswer EndpointServer::ask_one(const AskedLengths& lengths) { return ask({lengths}).answers.front(); }

void EndpointServer::negotiate() {
  std::string first_problem;
  std::string last_problem;
  for (const Dialect& candidate : dialects(dialect_.model)) {
    dialect_ = candidate;
    const TimedAnswer answer = ask_one({32, 4, 0});
    if (answer.problem.empty() && answer.tokens > 0) {
      const bool counted = answer.prompt_tokens > 0 || dialect_.form == PromptForm::kTokenIds;
      if (counted) return;
      last_problem = "does not say how many tokens a prompt has (no usage in its streams)";
      continue;
    }
    last_problem = answer.problem;
    if (first_problem.empty()) first_problem = answer.problem;
    const bool refused = answer.problem.compare(0, 8, "status 4") == 0 || answer.problem == kNoToken;
    const bool overloaded = answer.problem.compare(0, 10, "status 429") == 0;
    if (!refused || overloaded || client_.stopped()) break;
  }
  const std::string all = first_problem.empty() || first_problem == last_problem
                              ? last_problem
                              : last_problem + "; first: " + first_problem;
  refuse_endpoint(address(), all,
                  "it must stream /v1/completions or /v1/chat/completions of " + dialect_.model +
                      " with usage, and be idle; try it with curl");
}

void EndpointServer::measure_words() {
  dialect_.tokens_per_word = 1;
  dialect_.words_base = 0;
  constexpr std::int64_t kShort = 32;
  constexpr std::int64_t kLong = 160;
  const TimedAnswer few = ask_one({kShort, 1, 0});
  const TimedAnswer many = ask_one({kLong, 1, 0});
  if (!few.problem.empty() || !many.problem.empty() || many.prompt_tokens <= few.prompt_tokens) {
    refuse_endpoint(address(),
                    "counts no more prompt tokens for more words" +
                        (many.problem.empty() ? std::string() : ": " + many.problem),
                    "its usage must have prompt_tokens");
  }
  dialect_.tokens_per_word =
      static_cast<double>(many.prompt_tokens - few.prompt_tokens) / static_cast<double>(kLong - kShort);
  dialect_.words_base =
      static_cast<double>(few.prompt_tokens) - dialect_.tokens_per_word * static_cast<double>(kShort);
}

AnsweredLoad EndpointServer::ask(const std::vector<AskedLengths>& lengths, bool samples_metrics) {
  Load load;
  load.timeout = std::min(options_.answer_timeout, limit_);
  if (samples_metrics && has_metrics_) load.sampled_path = kMetrics;
  for (const AskedLengths& one : lengths) {
    load.calls.push_back({path_of(dialect_),
                          body_of(dialect_, one.prompt, one.output, options_.salt, next_call_++),
                          one.after_parts});
  }
  const LoadAnswers raw = client_.run(load);
  AnsweredLoad result;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    TimedAnswer answer = timed_answer(raw.calls[i], lengths[i].output);
    if (answer.prompt_tokens == 0 && dialect_.form == PromptForm::kTokenIds)
      answer.prompt_tokens = lengths[i].prompt;
    const bool later = raw.calls[i].status == 429 || raw.calls[i].status == 503;
    if (later) result.retry_after = std::max({result.retry_after, raw.calls[i].retry_after, 1});
    result.answers.push_back(std::move(answer));
  }
  for (const HttpAnswer& sample : raw.samples) {
    if (sample.ok()) result.samples.emplace_back(sample, server_metrics(sample.body()));
  }
  return result;
}

}  // namespace servetwin
