// If these fail, clients of a real model get other text than it generated, or their sampling parameters, stop
// strings, token ids or cancellations mean something else.
#include <nlohmann/json.hpp>

#include "tests/http/live_rig.h"
#include "tests/http/server_rig.h"
#include "tests/support/catch.h"

namespace servetwin::test::live_engine_test {
namespace {

struct Streamed {
  std::string text;
  std::string finish;
  Json usage;
};

Streamed streamed(const LiveRig& rig, Json body) {
  body["stream"] = true;
  body["stream_options"] = {{"include_usage", true}};
  Streamed result;
  for (const std::string& event : events(rig.ask("/v1/completions", body).body)) {
    if (event == "[DONE]") continue;
    const Json chunk = Json::parse(event);
    if (chunk["choices"].empty()) {
      result.usage = chunk["usage"];
      continue;
    }
    result.text += chunk["choices"][0]["text"].get<std::string>();
    if (chunk["choices"][0]["finish_reason"].is_string())
      result.finish = chunk["choices"][0]["finish_reason"];
  }
  return result;
}

TEST_CASE("a real model's streamed answer is its answer, greedy, drawn, penalised or stopped") {
  const LiveRig rig("stream");
  const std::string open = rig.text(text_call("Once upon", 40));
  REQUIRE(open.size() > 12);
  const std::string stop = open.substr(open.size() / 2, 3);
  for (const Json& more :
       {Json::object(),
        Json{{"temperature", 0.9}, {"seed", 5}, {"top_p", 0.9}, {"top_k", 40}, {"min_p", 0.01}},
        Json{{"repetition_penalty", 1.3}, {"frequency_penalty", 0.5}, {"presence_penalty", 0.5}},
        Json{{"stop", stop}},
        Json{{"stop", {stop}}, {"include_stop_str_in_output", true}, {"min_tokens", 3}}}) {
    CAPTURE(more.dump());
    const Json whole = rig.answer("/v1/completions", text_call("Once upon", 40, more));
    const Streamed stream = streamed(rig, text_call("Once upon", 40, more));
    CHECK(stream.text == whole["choices"][0]["text"]);
    CHECK(stream.finish == whole["choices"][0]["finish_reason"]);
    CHECK(stream.usage["completion_tokens"] == whole["usage"]["completion_tokens"]);
  }
}

TEST_CASE("a stop string ends the model's own answer before it, and no token after it is computed") {
  const LiveRig rig("stop");
  const Json open = rig.answer("/v1/completions", text_call("Once upon", 40));
  const std::string text = open["choices"][0]["text"];
  const std::string stop = text.substr(text.size() / 2, 3);
  const Json stopped = rig.answer("/v1/completions", text_call("Once upon", 40, {{"stop", stop}}));
  CHECK(stopped["choices"][0]["text"] == text.substr(0, text.find(stop)));
  CHECK(stopped["choices"][0]["finish_reason"] == "stop");
  CHECK(stopped["usage"]["completion_tokens"] < open["usage"]["completion_tokens"]);
}

TEST_CASE("tokenize gives the ids that a prompt has, and detokenize its text") {
  const LiveRig rig("tokens");
  const std::string text =
      "Gr\xC3\xBC\xC3\x9F"
      "e, 12 caf\xC3\xA9s \xF0\x9F\x98\x80\n";
  const Json tokens = rig.answer("/tokenize", {{"model", "M"}, {"prompt", text}});
  CHECK(tokens["count"] == tokens["tokens"].size());
  CHECK(tokens["max_model_len"] == 1024);
  CHECK(rig.answer("/detokenize", {{"model", "M"}, {"tokens", tokens["tokens"]}})["prompt"] == text);
  Json by_ids = text_call("", 12);
  by_ids["prompt"] = tokens["tokens"];
  const Json answer = rig.answer("/v1/completions", by_ids);
  CHECK(answer["usage"]["prompt_tokens"] == tokens["count"]);
  CHECK(answer["choices"] == rig.answer("/v1/completions", text_call(text, 12))["choices"]);
}

TEST_CASE("a conversation becomes a prompt by the model's template, and is found again in the prefix cache") {
  const LiveRig rig("chat");
  const std::string question(120, 'q');
  const Json messages{{{"role", "user"}, {"content", question}}};
  const Json chat{{"model", "M"}, {"messages", messages}, {"max_tokens", 4}, {"temperature", 0}};
  const Json first = rig.answer("/v1/chat/completions", chat);
  const Json plain = text_call("<|im_start|>user\n" + question + "<|im_end|><|im_start|>", 4);
  const Json second = rig.answer("/v1/completions", plain);
  CHECK(first["choices"][0]["message"]["content"] == second["choices"][0]["text"]);
  CHECK(first["usage"]["prompt_tokens"] ==
        rig.answer("/tokenize", {{"model", "M"}, {"messages", messages}})["count"]);
  CHECK(first["usage"]["prompt_tokens_details"]["cached_tokens"] == 0);
  const int prompt = second["usage"]["prompt_tokens"];
  CHECK(second["usage"]["prompt_tokens_details"]["cached_tokens"] == (prompt - 1) / 16 * 16);
}

TEST_CASE("with a seed the same call has the same answer, without one each call has its own") {
  const LiveRig rig("seed");
  const Json drawn{{"temperature", 1}};
  const Json seeded{{"temperature", 1}, {"seed", 3}};
  CHECK(rig.text(text_call("Tell", 30, seeded)) == rig.text(text_call("Tell", 30, seeded)));
  CHECK(rig.text(text_call("Tell", 30, seeded)) !=
        rig.text(text_call("Tell", 30, {{"temperature", 1}, {"seed", 4}})));
  CHECK(rig.text(text_call("Tell", 30, drawn)) != rig.text(text_call("Tell", 30, drawn)));
}

TEST_CASE("what can be no prompt of the model is refused and the server goes on") {
  const LiveRig rig("refused", R"({"eos_token": "</s>"})");
  Json ids = text_call("", 4);
  ids["prompt"] = {1, 454};
  CHECK(rig.ask("/v1/completions", ids).status == 400);
  const Json chat{{"model", "M"}, {"messages", {{{"role", "user"}, {"content", "Hi"}}}}};
  const Reply refused = rig.ask("/v1/chat/completions", chat);
  CHECK(refused.status == 400);
  CHECK(Json::parse(refused.body)["error"]["code"] == "no_chat_template");
  CHECK(rig.ask("/tokenize", {{"model", "M"}}).status == 400);
  CHECK(rig.ask("/detokenize", {{"model", "M"}, {"tokens", "x"}}).status == 400);
  CHECK(rig.answer("/v1/completions", text_call("Hi", 2))["usage"]["completion_tokens"] == 2);
}

TEST_CASE("a client that leaves takes its request with it") {
  const LiveRig rig("leave");
  const std::string running = "vllm:num_requests_running{model_name=\"M\",engine=\"0\"} ";
  {
    HttpClient client(rig.port());
    client.send(
        post("/v1/completions", text_call("Long", 900, {{"stream", true}, {"ignore_eos", true}}).dump()));
    REQUIRE(!client.some(200).empty());
    CHECK(rig.metrics().find(running + "1") != std::string::npos);
  }
  CHECK(ServerRig::soon([&] { return rig.metrics().find(running + "0") != std::string::npos; }));
  CHECK(rig.metrics().find("finished_reason=\"length\"} 1") == std::string::npos);
}

}  // namespace
}  // namespace servetwin::test::live_engine_test
