// If these fail, calibrate --endpoint reads another address, other token times or other metrics than a server
// gave, or asks for prompts that a prefix cache already has.
#include <nlohmann/json.hpp>
#include <set>

#include "calibrate/endpoint/dialect.h"
#include "calibrate/endpoint/endpoint_address.h"
#include "calibrate/endpoint/event_stream.h"
#include "calibrate/endpoint/http_reader.h"
#include "calibrate/endpoint/server_metrics.h"
#include "tests/calibrate/step_rig.h"
#include "tests/support/catch.h"

namespace servetwin::endpoint_parts_test {
namespace {

Duration ms(std::int64_t value) { return std::chrono::milliseconds(value); }

// An answer with these parts, at 1 ms, 2 ms, …
HttpAnswer answer_of(const std::vector<std::string>& parts) {
  HttpAnswer answer;
  answer.end = CallEnd::kComplete;
  answer.status = 200;
  for (const std::string& bytes : parts)
    answer.parts.push_back({ms(static_cast<std::int64_t>(answer.parts.size()) + 1), bytes});
  return answer;
}

std::string text_event(const std::string& text, const std::string& more = "") {
  return R"(data: {"choices": [{"text": ")" + text + R"(", "finish_reason": null}])" + more + "}\n\n";
}

const std::string kEndEvent = "data: {\"choices\": [{\"text\": \"\", \"finish_reason\": \"length\"}]}\n\n";

std::string usage(int prompt, int tokens) {
  return R"(, "usage": {"prompt_tokens": )" + std::to_string(prompt) + R"(, "completion_tokens": )" +
         std::to_string(tokens) + R"(, "prompt_tokens_details": {"cached_tokens": 2}})";
}

TEST_CASE("an endpoint is host, port and what stands before the API's own path") {
  CHECK(endpoint_address("http://127.0.0.1:8000").text() == "http://127.0.0.1:8000");
  CHECK(endpoint_address("HTTP://a.example/v1/").text() == "http://a.example:80");
  CHECK(endpoint_address("http://a:1/gate/v1").path("/v1/models") == "/gate/v1/models");
  CHECK(endpoint_address("http://[::1]:9/").host == "::1");
  CHECK(endpoint_address("http://[::1]:9/").text() == "http://[::1]:9");
}

TEST_CASE("what is no plain HTTP address is refused with a remedy") {
  for (const char* url : {"127.0.0.1:8000", "https://a", "ftp://a", "http://", "http://a:0", "http://a:x",
                          "http://a:99999", "http://u@a", "http://a?b", "http://a b"}) {
    CAPTURE(url);
    const Problem problem = problem_from([url] { endpoint_address(url); });
    CHECK(problem.code == "CAL101");
    CHECK(problem.place.file == url);
    CHECK_FALSE(problem.remedy.empty());
  }
  CHECK(problem_from([] { endpoint_address("https://a"); }).remedy.find("tunnel") != std::string::npos);
}

TEST_CASE("events are the same however the bytes are cut, and with each kind of line end") {
  const std::string plain = "data: one\n\n: a comment\ndata: two\ndata:more\nid: 7\n\ndata: cut";
  for (const std::string end : {"\n", "\r\n", "\r"}) {
    std::string text;
    for (const char c : plain) text += c == '\n' ? end : std::string(1, c);
    for (std::size_t size = 1; size <= text.size(); ++size) {
      std::vector<BodyPart> parts;
      for (std::size_t at = 0; at < text.size(); at += size) parts.push_back({ms(1), text.substr(at, size)});
      const auto events = stream_events(parts);
      REQUIRE(events.size() == 2);
      CHECK(events[0].data == "one");
      CHECK(events[1].data == "two\nmore");
    }
  }
}

TEST_CASE("an event has the time of the part that completes it") {
  const auto events = stream_events({{ms(5), "data: a\n"}, {ms(9), "\ndata: b\n\n"}});
  REQUIRE(events.size() == 2);
  CHECK(events[0].at == ms(9));
  CHECK(events[1].at == ms(9));
}

TEST_CASE("usage in each event counts merged tokens, and roles and empty deltas are none") {
  const TimedAnswer answer = timed_answer(
      answer_of(
          {R"(data: {"choices": [{"delta": {"role": "assistant", "content": ""}}])" + usage(9, 0) + "}\n\n",
           R"(data: {"choices": [{"delta": {"content": "a"}}])" + usage(9, 1) + "}\n\n",
           R"(data: {"choices": [{"delta": {"content": ""}}])" + usage(9, 2) + "}\n\n",
           R"(data: {"choices": [{"delta": {"reasoning_content": "bcd"}}])" + usage(9, 5) + "}\n\n",
           R"(data: {"choices": [{"delta": {}, "finish_reason": "length"}])" + usage(9, 5) + "}\n\n",
           "data: [DONE]\n\n"}),
      8);
  CHECK(answer.problem.empty());
  CHECK(answer.counted == TokenCount::kEachEvent);
  CHECK((answer.prompt_tokens == 9 && answer.cached_tokens == 2 && answer.tokens == 5));
  CHECK(answer.finish_reason == "length");
  REQUIRE(answer.marks.size() == 2);
  CHECK((answer.first() == ms(2) && answer.last() == ms(4)));
  CHECK(answer.tokens_at(ms(1)) == 0);
  CHECK(answer.tokens_at(ms(3)) == 1);
  CHECK(answer.tokens_at(ms(4)) == 5);
}

TEST_CASE("usage at the end is spread over the events, the first of which is one token") {
  const TimedAnswer answer =
      timed_answer(answer_of({text_event("a"), text_event("b"), text_event("c") + kEndEvent,
                              "data: {\"choices\": []" + usage(4, 7) + "}\n\ndata: [DONE]\n\n"}),
                   7);
  CHECK(answer.counted == TokenCount::kAtEnd);
  REQUIRE(answer.marks.size() == 3);
  CHECK(answer.marks[0].tokens == 1);
  CHECK(answer.marks[1].tokens == 4);
  CHECK(answer.marks[2].tokens == 7);
}

TEST_CASE("without usage an answer that its length ended has the tokens that were asked for") {
  const TimedAnswer answer = timed_answer(answer_of({text_event("a"), text_event("b") + kEndEvent}), 3);
  CHECK(answer.counted == TokenCount::kAsked);
  CHECK(answer.tokens == 3);
  CHECK(answer.prompt_tokens == 0);
  CHECK(timed_answer(answer_of({text_event("a"), text_event("b")}), 3).tokens == 2);  // nothing says 3
}

TEST_CASE("an answer that is cut, refused, empty, in error or no JSON says why it does not count") {
  HttpAnswer answer = answer_of({text_event("a")});
  answer.end = CallEnd::kCut;
  CHECK(timed_answer(answer, 3).problem == "closed the connection within an answer");
  answer.end = CallEnd::kTimedOut;
  CHECK(timed_answer(answer, 3).problem == "did not answer in time");
  answer = answer_of({"{\"error\": \"slow down\"}"});
  answer.status = 429;
  CHECK(timed_answer(answer, 3).problem == "status 429: {\"error\": \"slow down\"}");
  CHECK(timed_answer(answer_of({kEndEvent}), 3).problem == "holds no token");
  CHECK(timed_answer(answer_of({text_event("a"), "data: {\"error\": {\"message\": \"lost\"}}\n\n"}), 3)
            .problem.find("lost") != std::string::npos);
  CHECK(timed_answer(answer_of({"data: <html>\n\n"}), 3).problem.find("<html>") != std::string::npos);
}

TEST_CASE("a response is read byte by byte: chunked, with a length, or until the connection ends") {
  struct Case {
    std::string bytes;
    bool needs_end;
  };
  for (const Case& one :
       {Case{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n",
             false},
        Case{"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabcde", false},
        Case{"HTTP/1.1 200 OK\r\n\r\nabcde", true}}) {
    HttpReader reader;
    std::string body;
    for (const char c : one.bytes) {
      std::string more;
      REQUIRE(reader.put(std::string_view(&c, 1), more));
      body += more;
    }
    CHECK(body == "abcde");
    CHECK(reader.status() == 200);
    CHECK(reader.is_done() == !one.needs_end);
    CHECK((!one.needs_end || reader.put_end()));
  }
}

TEST_CASE("a response that ends early or is none is told, and Retry-After is read") {
  HttpReader reader;
  std::string body;
  REQUIRE(reader.put("HTTP/1.1 429 Too Many\r\nRetry-After: 7\r\nContent-Length: 5\r\n\r\nab", body));
  CHECK(reader.status() == 429);
  CHECK(reader.retry_after() == 7);
  CHECK_FALSE(reader.put_end());
  CHECK_FALSE(HttpReader().put("SSH-2.0-OpenSSH_9.2\r\n", body));
}

TEST_CASE(
    "metrics of several engines are added up under the names of vLLM, old and new, SGLang and llama.cpp") {
  const ServerMetrics vllm = server_metrics(
      "# HELP vllm:num_requests_running Requests.\n# TYPE vllm:num_requests_running gauge\n"
      "vllm:num_requests_running{engine=\"0\",model_name=\"a b{}\"} 3.0\n"
      "vllm:num_requests_running{engine=\"1\",model_name=\"a b{}\"} 2\n"
      "vllm:num_requests_waiting{engine=\"0\"} 4\r\n"
      "vllm:gpu_cache_usage_perc{engine=\"0\"} 0.5\nvllm:gpu_cache_usage_perc{engine=\"1\"} 2.5e-1\n"
      "vllm:cache_config_info{block_size=\"16\",num_gpu_blocks=\"601\",enable=\"True\"} 1.0\n"
      "vllm:iteration_tokens_total_count{engine=\"0\"} 12\nvllm:iteration_tokens_total_sum 9\nodd line\n");
  CHECK(vllm.running == 5.0);
  CHECK(vllm.waiting == 4.0);
  CHECK(vllm.kv_usage == 0.375);
  CHECK(vllm.steps == 12.0);
  CHECK((vllm.block_size == 16 && vllm.num_blocks == 601));
  CHECK(vllm.engines == 2);
  CHECK_FALSE(vllm.preemptions);
  CHECK(server_metrics("sglang:token_usage{a=\"b\"} 0.1\n").kv_usage == 0.1);
  CHECK(server_metrics("llamacpp:kv_cache_usage_ratio 0.2\n").kv_usage == 0.2);
  CHECK(server_metrics("").engines == 0);
}

TEST_CASE("two prompts share no beginning, and one has exactly as many token ids as asked") {
  Dialect dialect;
  dialect.model = "m";
  std::set<std::string> firsts;
  for (std::uint64_t number = 0; number < 50; ++number) {
    const auto body = nlohmann::json::parse(body_of(dialect, 40, 7, 3, number));
    CHECK(body["prompt"].size() == 40);
    CHECK(body["max_tokens"] == 7);
    CHECK(body["ignore_eos"] == true);
    CHECK(body["stream_options"]["continuous_usage_stats"] == true);
    firsts.insert(body["prompt"][0].dump() + ' ' + body["prompt"][1].dump());
  }
  CHECK(firsts.size() == 50);
  CHECK(body_of(dialect, 40, 7, 3, 1) != body_of(dialect, 40, 7, 4, 1));
}

TEST_CASE(
    "texts have the words that make the tokens, conversations hold one, and fewer fields where refused") {
  Dialect dialect;
  dialect.form = PromptForm::kText;
  dialect.tokens_per_word = 2;
  dialect.words_base = 10;
  CHECK(words_for(dialect, 50) == 20);
  CHECK(words_for(dialect, 1) == 1);
  dialect.counts_each_event = false;
  const auto text = nlohmann::json::parse(body_of(dialect, 50, 1, 1, 1));
  const std::string words = text["prompt"];
  CHECK(std::count(words.begin(), words.end(), ' ') == 19);
  CHECK_FALSE(text["stream_options"].contains("continuous_usage_stats"));
  dialect.form = PromptForm::kChat;
  dialect.counts = dialect.ignores_eos = false;
  const auto chat = nlohmann::json::parse(body_of(dialect, 50, 1, 1, 1));
  CHECK(chat["messages"][0]["content"] == words);
  CHECK_FALSE((chat.contains("stream_options") || chat.contains("ignore_eos")));
  CHECK(path_of(dialect) == "/v1/chat/completions");
}

}  // namespace
}  // namespace servetwin::endpoint_parts_test
