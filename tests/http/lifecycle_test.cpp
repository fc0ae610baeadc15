// If these fail, answers go on for clients that left, a full or closing server looks like a broken one, or
// slow readers cost memory without bound.
#include <nlohmann/json.hpp>

#include "tests/http/server_rig.h"
#include "tests/support/catch.h"

namespace servetwin::test::lifecycle_test {
namespace {

using Json = nlohmann::json;

const std::string kRunning = "vllm:num_requests_running";
const std::string kWaiting = "vllm:num_requests_waiting";
const std::string kAborted =
    R"(vllm:request_success_total{model_name="M",engine="0",finished_reason="abort"})";

TEST_CASE("a client that leaves frees its blocks, while it waits, in its prompt, and while it is answered") {
  const ServerRig rig({", long_prefill_token_threshold: 16", 0.25, {}, {}});
  const std::string prompt(400 * 4, 'p');
  const std::string long_prompt = R"({"model": "M", "ignore_eos": true, "max_tokens": 100, "prompt": ")";
  HttpClient in_prompt(rig.port());
  in_prompt.send(post("/v1/completions", long_prompt + prompt + "\"}"));
  std::vector<std::unique_ptr<HttpClient>> answered;
  for (int i = 0; i < 12; ++i) {  // more than the 8 that run at once
    answered.push_back(std::make_unique<HttpClient>(rig.port()));
    answered.back()->send(post("/v1/chat/completions", chat_call(400, R"("stream": true)")));
  }
  REQUIRE(ServerRig::soon([&] { return rig.metric(kWaiting) > 0; }));
  in_prompt.close();
  for (auto& client : answered) client->close();
  CHECK(ServerRig::soon([&] { return rig.idle(); }));
  CHECK(rig.metric(kAborted) == 13);
  // The connections close after their requests have ended.
  CHECK(ServerRig::soon([&] { return rig.num_open() == 0; }));
}

TEST_CASE("a cancelled request ends before its next step") {
  const ServerRig rig({"", 0.1, {}, {}});  // steps of 10 ms
  HttpClient client(rig.port());
  client.send(post("/v1/chat/completions", chat_call(400, R"("stream": true)")));
  client.some(300);
  client.close();
  REQUIRE(ServerRig::soon([&] { return rig.idle(); }));
  const double tokens = rig.metric("vllm:generation_tokens_total");
  CHECK(tokens >= 1);
  CHECK(tokens < 20);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  CHECK(rig.metric("vllm:generation_tokens_total") == tokens);
}

TEST_CASE("a full queue is 429 with a time to come back, streamed or not") {
  const ServerRig rig({", max_queued: 1", 0.1, {}, {}});
  std::vector<std::unique_ptr<HttpClient>> clients;
  for (int i = 0; i < 8; ++i) {
    clients.push_back(std::make_unique<HttpClient>(rig.port()));
    clients.back()->send(post("/v1/chat/completions", chat_call(400)));
    REQUIRE(ServerRig::soon([&] { return rig.metric(kRunning) == i + 1; }));
  }
  clients.push_back(std::make_unique<HttpClient>(rig.port()));
  clients.back()->send(post("/v1/chat/completions", chat_call(400)));
  REQUIRE(ServerRig::soon([&] { return rig.metric(kWaiting) == 1; }));
  for (const char* stream : {"false", "true"}) {
    const Reply reply = rig.chat(chat_call(4, R"("stream": )" + std::string(stream)));
    CHECK(reply.status == 429);
    CHECK(reply.headers.at("retry-after") == "1");
    CHECK(Json::parse(reply.body)["error"]["code"] == "queue_full");
  }
}

TEST_CASE("more answers than the server allows are 429, each choice counted") {
  RigOptions options;
  options.api.max_answers = 3;
  const ServerRig rig(options);
  CHECK(rig.chat(chat_call(4, R"("n": 3)")).status == 200);
  CHECK(rig.chat(chat_call(4, R"("n": 4)")).status == 429);
}

TEST_CASE("a draining server refuses completions, ends what it has, and says it is not ready") {
  ServerRig rig({"", 0.5, {}, {}});
  HttpClient client(rig.port());
  client.send(post("/v1/chat/completions", chat_call(100)));
  REQUIRE(ServerRig::soon([&] { return rig.metric(kRunning) == 1; }));
  rig.api().drain();
  const Reply refused = rig.chat(chat_call(4));
  CHECK(refused.status == 503);
  CHECK(refused.headers.count("retry-after") == 1);
  CHECK(rig.ask(get("/health")).status == 200);
  CHECK(rig.ask(get("/health/ready")).status == 503);
  CHECK(Json::parse(client.reply().body)["usage"]["completion_tokens"] == 100);
  CHECK(ServerRig::soon([&] { return rig.num_open() == 0; }));
}

TEST_CASE("a slow reader gets merged deltas, and all of the text") {
  const std::string call = chat_call(480, R"("stream": true)");
  const ServerRig rig({"", 20, {}, {}});
  const Reply fast = rig.chat(call);
  AnswerBoard board;
  int wakes = 0;
  board.open(RequestId{1}, [&] { ++wakes; });
  for (int i = 1; i <= 1000; ++i) board.append(RequestId{1}, "ab", i, {});
  CHECK(wakes == 1);
  const AnswerDelta delta = board.take(RequestId{1});
  CHECK(delta.text.size() == 2000);
  CHECK(delta.tokens == 1000);
  board.append(RequestId{1}, "c", 1001, {});
  CHECK(wakes == 2);
  CHECK(board.take(RequestId{1}).text == "c");

  HttpClient client(rig.port(), 2048);
  client.send(post("/v1/chat/completions", call));
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const Reply slow = client.reply();
  const auto text = [](const Reply& reply) {
    std::string all;
    for (const std::string& one : events(reply.body)) {
      if (one == "[DONE]") break;
      const Json choice = Json::parse(one)["choices"][0];
      all += choice["delta"].value("content", "");
    }
    return all;
  };
  CHECK(text(slow) == text(fast));
}

TEST_CASE("a client that reads nothing at all is given up") {
  RigOptions options;
  options.server.write_timeout = std::chrono::milliseconds(200);
  options.speed = 50;
  ServerRig rig(options);
  HttpClient client(rig.port(), 2048);
  std::string many;  // until the buffers of both sides are full
  for (int i = 0; i < 400; ++i) many += post("/v1/chat/completions", chat_call(480, R"("stream": true)"));
  std::thread sender([&] { client.send(many); });
  CHECK(ServerRig::soon([&] { return rig.num_open() == 1; }));
  CHECK(ServerRig::soon([&] { return rig.num_open() == 0 && rig.idle(); }, std::chrono::seconds(20)));
  client.half_close();
  sender.join();
}

TEST_CASE("ids of requests and traces come back, if they are ids") {
  std::mutex mutex;
  std::vector<AccessRecord> records;
  RigOptions options;
  options.server.on_done = [&](const AccessRecord& record) {
    const std::lock_guard lock(mutex);
    records.push_back(record);
  };
  const ServerRig rig(options);
  const std::string trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  const Reply reply = rig.ask(
      post("/v1/chat/completions", chat_call(4), "X-Request-Id: mine-1\r\ntraceparent: " + trace + "\r\n"));
  CHECK(reply.headers.at("x-request-id") == "mine-1");
  CHECK(reply.headers.at("traceparent") == trace);
  const Reply other = rig.ask(get("/version", "X-Request-Id: a b\r\ntraceparent: 00-xyz\r\n"));
  CHECK(other.headers.at("x-request-id").rfind("req-", 0) == 0);
  CHECK(other.headers.count("traceparent") == 0);
  REQUIRE(ServerRig::soon([&] {
    const std::lock_guard lock(mutex);
    return records.size() == 2;
  }));
  CHECK(records[0].status == 200);
  CHECK(records[0].complete);
  CHECK(records[0].facts.prompt_tokens == 8);
  CHECK(records[0].facts.completion_tokens == 4);
  CHECK(records[0].facts.finish_reason == "length");
  CHECK(trace_id_of(records[0].traceparent) == "0af7651916cd43dd8448eb211c80319c");
}

TEST_CASE("models are listed with their root, and how prompts are counted is said") {
  const ServerRig rig;
  const Json model = Json::parse(rig.ask(get("/v1/models")).body)["data"][0];
  CHECK(model["id"] == "M");
  CHECK(model["root"] == "servetwin/tiny-llama-random");
  CHECK(model["max_model_len"] == 512);
  CHECK(model["prompt_tokens_are"].get<std::string>().find("4 bytes") != std::string::npos);
}

TEST_CASE("every line of the metrics is a comment or a sample, with the names and buckets of vLLM") {
  const ServerRig rig;
  CHECK(rig.chat(chat_call(5)).status == 200);
  const Reply reply = rig.ask(get("/metrics"));
  CHECK(reply.headers.at("content-type") == "text/plain; version=0.0.4; charset=utf-8");
  std::size_t samples = 0;
  for (std::size_t at = 0; at < reply.body.size();) {
    const std::size_t end = reply.body.find('\n', at);
    const std::string line = reply.body.substr(at, end - at);
    at = end + 1;
    if (line.empty() || line.rfind("# HELP vllm:", 0) == 0 || line.rfind("# TYPE vllm:", 0) == 0) continue;
    CAPTURE(line);
    CHECK(line.rfind("vllm:", 0) == 0);
    CHECK(line.find("model_name=\"M\"") != std::string::npos);
    std::size_t used = 0;
    const std::string value = line.substr(line.rfind(' ') + 1);
    static_cast<void>(std::stod(value, &used));
    CHECK(used == value.size());
    ++samples;
  }
  CHECK(samples > 100);
  CHECK(reply.body.find(
            "vllm:time_to_first_token_seconds_bucket{model_name=\"M\",engine=\"0\",le=\"0.001\"}") !=
        std::string::npos);
  CHECK(rig.metric("vllm:time_to_first_token_seconds_count") == 1);
  CHECK(rig.metric("vllm:inter_token_latency_seconds_count") == 4);
  CHECK(rig.metric("vllm:generation_tokens_total") == 5);
  CHECK(rig.metric("vllm:prompt_tokens_total") == 8);
}

TEST_CASE("durations are those of the cost model, whatever the speed") {
  const ServerRig rig({"", 10, {}, {}});
  CHECK(rig.chat(chat_call(101)).status == 200);
  const double sum = rig.metric("vllm:inter_token_latency_seconds_sum");
  CHECK(sum > 0.100);  // 100 steps of 1 ms and little more
  CHECK(sum < 0.102);
}

}  // namespace
}  // namespace servetwin::test::lifecycle_test
