// If these fail, clients that ask for log-probabilities get other figures than the model's, other objects
// than OpenAI's, or tokens that are not those of the answer.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "engine/models/tokenizer/utf8.h"
#include "tests/http/live_rig.h"
#include "tests/http/server_rig.h"
#include "tests/live/live_model_rig.h"
#include "tests/support/catch.h"

namespace servetwin::test::logprobs_test {
namespace {

// By the definition, in double: log of the softmax.
std::vector<double> log_softmax(const std::vector<float>& logits) {
  double total = 0;
  for (const float logit : logits) total += std::exp(static_cast<double>(logit));
  std::vector<double> result;
  for (const float logit : logits) result.push_back(static_cast<double>(logit) - std::log(total));
  return result;
}

struct Greedy {
  std::vector<TokenId> tokens;
  std::vector<std::vector<double>> logprobs;
};

// The same model without a server: what it says after the prompt, and how likely each token was.
Greedy greedy(const std::vector<TokenId>& prompt, std::int64_t outputs) {
  const ModelWeights weights = random_weights(live_rig_spec(), 7);
  Greedy result;
  std::vector<TokenId> all = prompt;
  for (std::int64_t i = 0; i < outputs; ++i) {
    ModelRig rig(live_rig_spec(), weights, {all});
    result.logprobs.push_back(log_softmax(rig.step({{0, static_cast<std::int64_t>(all.size())}}).front()));
    const auto& last = result.logprobs.back();
    const auto most = std::max_element(last.begin(), last.end());
    result.tokens.push_back(static_cast<TokenId>(most - last.begin()));
    all.push_back(result.tokens.back());
  }
  return result;
}

Json chat_call_with(const Json& more) {
  Json body{{"model", "M"},
            {"messages", {{{"role", "user"}, {"content", "caf\xC3\xA9 \xF0\x9F\x98\x80"}}}},
            {"max_tokens", 24},
            {"temperature", 0}};
  body.update(more);
  return body;
}

TEST_CASE("log-probabilities of a text are the logarithms of the model's softmax, the most likely named") {
  const LiveRig rig("logprobs");
  const std::vector<TokenId> prompt{40, 41, 42, 43, 300};
  const Greedy expected = greedy(prompt, 12);
  Json body = text_call("", 12, {{"logprobs", 5}, {"ignore_eos", true}, {"repetition_penalty", 1.0}});
  body["prompt"] = prompt;
  const Json choice = rig.answer("/v1/completions", body)["choices"][0];
  const Json& lists = choice["logprobs"];
  REQUIRE(lists["tokens"].size() == 12);
  REQUIRE(lists["text_offset"].size() == 12);
  for (std::size_t i = 0; i < 12; ++i) {
    CAPTURE(i);
    std::vector<double> sorted = expected.logprobs[i];
    std::sort(sorted.rbegin(), sorted.rend());
    CHECK(std::abs(lists["token_logprobs"][i].get<double>() - sorted[0]) < 1e-5);
    std::vector<double> top;
    for (const auto& [name, logprob] : lists["top_logprobs"][i].items()) top.push_back(logprob);
    std::sort(top.rbegin(), top.rend());
    REQUIRE(top.size() == 5);
    for (std::size_t k = 0; k < 5; ++k) CHECK(std::abs(top[k] - sorted[k]) < 1e-5);
  }
}

TEST_CASE("reported log-probabilities are the model's own, whatever the call does to the choice") {
  const LiveRig rig("logprobs_own");
  const Json drawn{{"logprobs", 0}, {"temperature", 2}, {"seed", 5}, {"top_k", 100}, {"ignore_eos", true}};
  Json body = text_call("", 1, drawn);
  body["prompt"] = {40, 41, 42};
  const Json lists = rig.answer("/v1/completions", body)["choices"][0]["logprobs"];
  const std::vector<double> expected = greedy({40, 41, 42}, 1).logprobs[0];
  const double got = lists["token_logprobs"][0];
  const auto near = [&](double logprob) { return std::abs(logprob - got) < 1e-5; };
  CHECK(std::any_of(expected.begin(), expected.end(), near));
  CHECK(lists["top_logprobs"][0].size() == 1);
}

TEST_CASE("the tokens of a chat's log-probabilities join to its text, and offsets of a text point into it") {
  const LiveRig rig("logprobs_text");
  const Json chat =
      rig.answer("/v1/chat/completions",
                 chat_call_with({{"logprobs", true}, {"top_logprobs", 2}, {"ignore_eos", true}, {"n", 2}}));
  for (const Json& choice : chat["choices"]) {
    CHECK(choice["logprobs"]["refusal"].is_null());
    const Json& content = choice["logprobs"]["content"];
    REQUIRE(content.size() == 24);
    std::string bytes;
    for (const Json& token : content) {
      CHECK(token["top_logprobs"].size() == 2);
      CHECK(token["top_logprobs"][0]["logprob"] == token["logprob"]);
      for (const Json& byte : token["bytes"]) bytes += static_cast<char>(byte.get<int>());
    }
    // What is no character is U+FFFD in the text; a random model says much of that.
    CHECK(repaired_utf8(bytes) == choice["message"]["content"].get<std::string>());
  }
  const Json text = rig.answer("/v1/completions", text_call("A", 24, {{"logprobs", 1}}))["choices"][0];
  std::int64_t begun = 0;
  for (std::size_t i = 0; i < text["logprobs"]["tokens"].size(); ++i) {
    CHECK(text["logprobs"]["text_offset"][i] == begun);
    const std::string name = text["logprobs"]["tokens"][i];
    if (name.rfind("bytes:", 0) == 0) {
      // Continuation bytes are \x80 to \xbf.
      for (std::size_t at = 6; at < name.size(); at += 4) {
        if (std::string("89ab").find(name[at + 2]) == std::string::npos) ++begun;
      }
    } else {
      for (const char byte : name) begun += (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U ? 0 : 1;
    }
  }
}

TEST_CASE("streamed log-probabilities are those of the whole answer, one entry a generated token") {
  const LiveRig rig("logprobs_stream");
  for (const Json& more : {Json{{"logprobs", true}, {"top_logprobs", 3}}, Json{{"logprobs", true}}}) {
    const Json whole = rig.answer("/v1/chat/completions", chat_call_with(more));
    Json body = chat_call_with(more);
    body["stream"] = true;
    Json streamed = Json::array();
    for (const std::string& event : events(rig.ask("/v1/chat/completions", body).body)) {
      if (event == "[DONE]") continue;
      const Json choice = Json::parse(event)["choices"][0];
      if (choice["logprobs"].is_null()) continue;
      for (const Json& token : choice["logprobs"]["content"]) streamed.push_back(token);
    }
    CHECK(streamed == whole["choices"][0]["logprobs"]["content"]);
    CHECK(static_cast<int>(streamed.size()) == whole["usage"]["completion_tokens"]);
  }
  const std::string open = rig.text(text_call("Once upon", 40));
  const Json stop{{"logprobs", 0}, {"stop", open.substr(open.size() / 2, 3)}};
  const Json stopped = rig.answer("/v1/completions", text_call("Once upon", 40, stop));
  CHECK(static_cast<int>(stopped["choices"][0]["logprobs"]["tokens"].size()) ==
        stopped["usage"]["completion_tokens"]);
}

TEST_CASE("without logprobs there are none, and calls for too many or of simulated answers are refused") {
  const LiveRig rig("logprobs_refused");
  CHECK(rig.answer("/v1/completions", text_call("A", 2))["choices"][0]["logprobs"].is_null());
  const Json off = chat_call_with({{"logprobs", false}});
  CHECK(rig.answer("/v1/chat/completions", off)["choices"][0]["logprobs"].is_null());
  const auto refused = [&](const std::string& path, const Json& body, const char* param) {
    const Reply reply = rig.ask(path, body);
    CHECK(reply.status == 400);
    CHECK(Json::parse(reply.body)["error"]["param"] == param);
  };
  refused("/v1/completions", text_call("A", 2, {{"logprobs", 6}}), "logprobs");
  refused("/v1/completions", text_call("A", 2, {{"logprobs", true}}), "logprobs");
  refused("/v1/completions", text_call("A", 2, {{"top_logprobs", 2}}), "top_logprobs");
  refused("/v1/chat/completions", chat_call_with({{"top_logprobs", 2}}), "top_logprobs");
  refused("/v1/chat/completions", chat_call_with({{"logprobs", true}, {"top_logprobs", 21}}), "top_logprobs");
  refused("/v1/chat/completions", chat_call_with({{"logprobs", 3}}), "logprobs");
  const ServerRig simulated;
  const Reply reply = simulated.chat(chat_call(2, R"("logprobs": true)"));
  CHECK(reply.status == 400);
  CHECK(Json::parse(reply.body)["error"]["code"] == "no_logprobs");
  CHECK(simulated.chat(chat_call(2, R"("logprobs": false)")).status == 200);
}

TEST_CASE("the official Python client reads log-probabilities", "[slow]") {
  const std::string python = SERVETWIN_SOURCE_DIR "/build/oracles/bin/python";
  if (std::system((python + " -c 'import openai' 2>/dev/null").c_str()) != 0) {
    WARN("skipped: no Python module openai (tools/setup --test-extras installs it)");
    return;
  }
  const LiveRig rig("logprobs_openai");
  const std::string script = SERVETWIN_SOURCE_DIR "/tests/http/openai_logprobs.py";
  CHECK(std::system((python + " " + script + " http://127.0.0.1:" + std::to_string(rig.port())).c_str()) ==
        0);
}

}  // namespace
}  // namespace servetwin::test::logprobs_test
