// If these fail, clients count tokens wrongly, miss the end of a stream, or get another answer when they
// stream.
#include <nlohmann/json.hpp>

#include "tests/http/server_rig.h"
#include "tests/support/catch.h"

namespace servetwin::test::usage_test {
namespace {

using Json = nlohmann::json;

// The chunks of a stream that ends properly.
std::vector<Json> chunks_of(const Reply& reply) {
  REQUIRE(reply.status == 200);
  CHECK(reply.headers.at("content-type") == "text/event-stream; charset=utf-8");
  std::vector<std::string> all = events(reply.body);
  REQUIRE(all.size() > 1);
  CHECK(all.back() == "[DONE]");
  all.pop_back();
  std::vector<Json> chunks;
  for (const std::string& one : all) {
    CHECK(one != "[DONE]");
    chunks.push_back(Json::parse(one));
  }
  return chunks;
}

struct Seen {
  int roles = 0;
  int contents = 0;
  int finishes = 0;
  int usages = 0;
  int without_choices = 0;
  std::string text;
  std::string finish;
};

Seen seen_of(const std::vector<Json>& chunks, int index = 0) {
  Seen seen;
  for (const Json& chunk : chunks) {
    if (chunk.contains("usage") && !chunk["usage"].is_null()) ++seen.usages;
    if (chunk["choices"].empty()) ++seen.without_choices;
    for (const Json& choice : chunk["choices"]) {
      if (choice["index"] != index) continue;
      const Json delta = choice.contains("delta") ? choice["delta"] : Json{{"content", choice["text"]}};
      if (delta.contains("role")) ++seen.roles;
      if (!delta.value("content", "").empty()) ++seen.contents;
      seen.text += delta.value("content", "");
      if (choice["finish_reason"].is_null()) continue;
      ++seen.finishes;
      seen.finish = choice["finish_reason"];
    }
  }
  return seen;
}

const std::string kStream = R"("stream": true, "temperature": 0)";

TEST_CASE("a stream without the option has no usage anywhere") {
  const ServerRig rig;
  const Seen seen = seen_of(chunks_of(rig.chat(chat_call(4, kStream))));
  CHECK(seen.roles == 1);
  CHECK((seen.contents >= 1 && seen.contents <= 4));
  CHECK(seen.finishes == 1);
  CHECK(seen.finish == "length");
  CHECK(seen.without_choices == 0);
  CHECK(seen.usages == 0);
}

TEST_CASE("include_usage adds one frame without choices between the finish reason and the end") {
  const ServerRig rig;
  const auto chunks =
      chunks_of(rig.chat(chat_call(4, kStream + R"(, "stream_options": {"include_usage": true})")));
  const Seen seen = seen_of(chunks);
  CHECK(seen.roles == 1);
  CHECK(seen.finishes == 1);
  CHECK(seen.usages == 1);
  CHECK(seen.without_choices == 1);
  CHECK(chunks.back()["choices"].empty());
  CHECK(chunks[chunks.size() - 2]["choices"][0]["finish_reason"] == "length");
  const Json usage = chunks.back()["usage"];
  CHECK(usage["completion_tokens"] == 4);
  CHECK(usage["prompt_tokens"] == 8);  // "<|user|>Hi<|end|><|assistant|>" has 30 bytes
  CHECK(usage["total_tokens"] == 12);
}

TEST_CASE("continuous usage stands in every frame and never falls") {
  const ServerRig rig;
  const std::string body =
      R"({"model": "M", "prompt": "Hi", "max_tokens": 4, "ignore_eos": true, "temperature": 0, "stream": true,
          "stream_options": {"include_usage": true, "continuous_usage_stats": true}})";
  const auto chunks = chunks_of(rig.ask(post("/v1/completions", body)));
  std::int64_t before = 0;
  for (const Json& chunk : chunks) {
    REQUIRE(chunk.contains("usage"));
    const auto tokens = chunk["usage"]["completion_tokens"].get<std::int64_t>();
    CHECK(tokens >= before);
    before = tokens;
    if (!chunk["choices"].empty() && !chunk["choices"][0]["finish_reason"].is_null()) CHECK(tokens == 4);
  }
  CHECK(before == 4);
  CHECK(chunks.back()["choices"].empty());
}

TEST_CASE("two choices count the prompt once and end once each") {
  const ServerRig rig;
  const auto chunks =
      chunks_of(rig.chat(chat_call(3, R"("n": 2, "temperature": 0.8, "seed": 7, "stream": true, )"
                                      R"("stream_options": {"include_usage": true})")));
  const Seen first = seen_of(chunks, 0);
  const Seen second = seen_of(chunks, 1);
  CHECK((first.roles == 1 && second.roles == 1));
  CHECK((first.finishes == 1 && second.finishes == 1));
  CHECK(first.text != second.text);
  CHECK(first.usages == 1);
  CHECK(chunks.back()["usage"]["prompt_tokens"] == 8);
  CHECK(chunks.back()["usage"]["completion_tokens"] == 6);
}

TEST_CASE("stream options without a stream are refused by name, and a body has usage anyway") {
  const ServerRig rig;
  const Reply refused =
      rig.chat(chat_call(4, R"("stream": false, "stream_options": {"include_usage": true})"));
  CHECK(refused.status == 400);
  CHECK(Json::parse(refused.body)["error"]["param"] == "stream_options");
  const Reply whole = rig.chat(chat_call(4));
  CHECK(whole.status == 200);
  CHECK(Json::parse(whole.body)["usage"]["completion_tokens"] == 4);
}

TEST_CASE("a streamed answer is the answer that is not streamed") {
  const ServerRig rig;
  for (const char* more :
       {R"("seed": 1)", R"("seed": 2, "stop": ["river", "e s"])", R"("seed": 3, "stop": "the")",
        R"("seed": 4, "stop": ["a", "o"], "min_tokens": 9, "include_stop_str_in_output": true)"}) {
    CAPTURE(more);
    const Json whole = Json::parse(rig.chat(chat_call(40, more)).body);
    const auto chunks = chunks_of(rig.chat(
        chat_call(40, more + std::string(R"(, "stream": true, "stream_options": {"include_usage": true})"))));
    const Seen seen = seen_of(chunks);
    CHECK(seen.text == whole["choices"][0]["message"]["content"]);
    CHECK(seen.finish == whole["choices"][0]["finish_reason"]);
    CHECK(chunks.back()["usage"]["completion_tokens"] == whole["usage"]["completion_tokens"]);
  }
}

TEST_CASE("nothing of a stop string leaves, and its tokens count") {
  const ServerRig rig;
  const Json open = Json::parse(rig.chat(chat_call(60, R"("seed": 5)")).body);
  const auto text = open["choices"][0]["message"]["content"].get<std::string>();
  const std::size_t fifth = [&] {
    std::size_t at = 0;
    for (int i = 0; i < 5; ++i) at = text.find(' ', at) + 1;
    return at;
  }();
  const std::string stop = text.substr(fifth - 3, 6);  // the end of one word and the start of the next
  const Json body{{"model", "M"},       {"messages", {{{"role", "user"}, {"content", "Hi"}}}},
                  {"ignore_eos", true}, {"max_tokens", 60},
                  {"seed", 5},          {"stop", stop}};
  const Json stopped = Json::parse(rig.chat(body.dump()).body);
  CHECK(stopped["choices"][0]["finish_reason"] == "stop");
  CHECK(stopped["choices"][0]["message"]["content"] == text.substr(0, text.find(stop)));
  CHECK(stopped["usage"]["completion_tokens"].get<int>() < 60);
  CHECK(rig.metric(R"(vllm:request_success_total{model_name="M",engine="0",finished_reason="stop"})") == 1);
}

TEST_CASE("an answer that may stop by itself has a length of the scenario's") {
  const ServerRig rig;
  const std::string body =
      R"({"model": "M", "max_tokens": 200, "messages": [{"role": "user", "content": "x"}]})";
  const Json answer = Json::parse(rig.chat(body).body);
  CHECK(answer["choices"][0]["finish_reason"] == "stop");
  const int tokens = answer["usage"]["completion_tokens"];
  CHECK((tokens >= 5 && tokens <= 30));
}

TEST_CASE("a prompt that was there before is found in the prefix cache") {
  const ServerRig rig;
  const std::string text(4 * 100, 'x');
  const std::string body =
      R"({"model": "M", "prompt": ")" + text + R"(", "max_tokens": 2, "ignore_eos": true})";
  const Json first = Json::parse(rig.ask(post("/v1/completions", body)).body);
  const Json second = Json::parse(rig.ask(post("/v1/completions", body)).body);
  CHECK(first["usage"]["prompt_tokens"] == 100);
  CHECK(first["usage"]["prompt_tokens_details"]["cached_tokens"] == 0);
  CHECK(second["usage"]["prompt_tokens_details"]["cached_tokens"] == 96);  // full blocks of 16
  CHECK(second["choices"] == first["choices"]);
}

}  // namespace
}  // namespace servetwin::test::usage_test
