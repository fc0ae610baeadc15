// If these fail, one client can hurt the server or other clients with what it sends.
#include <nlohmann/json.hpp>

#include "tests/http/server_rig.h"
#include "tests/support/catch.h"

namespace servetwin::test::hostile_test {
namespace {

using Json = nlohmann::json;

// Whether an ordinary client is served.
bool serves(const ServerRig& rig) { return rig.chat(chat_call(2)).status == 200; }

// The status that raw bytes get; 0 when the connection ends without one.
int status_of(const ServerRig& rig, const std::string& bytes) {
  HttpClient client(rig.port());
  client.send(bytes);
  return client.reply().status;
}

TEST_CASE("what is no proper HTTP is refused, and the server goes on") {
  const ServerRig rig;
  const std::string line = "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n";
  CHECK(status_of(rig, line + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n") == 400);
  CHECK(status_of(rig, line + "Content-Length: -5\r\n\r\n") == 400);
  CHECK(status_of(rig, line + "Content-Length: 5\r\nContent-Length: 6\r\n\r\n") == 400);
  CHECK(status_of(rig, line + "Transfer-Encoding: chunked\r\n\r\n-2\r\nxx\r\n0\r\n\r\n") == 400);
  CHECK(status_of(rig, line + "X: " + std::string(20'000, 'a') + "\r\n\r\n") == 431);
  CHECK(status_of(rig, line + "Content-Length: 100000000000\r\n\r\n{") == 413);
  CHECK(status_of(rig, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n") == 400);
  CHECK(status_of(rig, std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 15)) == 400);
  CHECK(status_of(rig, "\r\n\r\n\r\n nonsense\r\n\r\n") == 400);
  CHECK(serves(rig));
  CHECK(rig.idle());
}

TEST_CASE("what is no proper call is refused with an error object that says why") {
  const ServerRig rig;
  const std::vector<std::pair<std::string, std::string>> bodies = {
      {"", "JSON"},
      {"[1]", "object"},
      {std::string(1'000'000, '['), "deeper"},
      {R"({"a":)" + std::string(100, '[') + std::string(100, ']') + "}", "deeper"},
      {chat_call(2, R"("temperature": NaN)"), "JSON"},
      {chat_call(2, R"("temperature": 1e999)"), "JSON"},
      {chat_call(2, R"("user": "\ud800")"), "JSON"},
      {chat_call(2, "\"user\": \"\xff\""), "JSON"},
      {chat_call(2, R"("n": 9)"), "from 1 to 8"},
      {chat_call(2, R"("n": 18446744073709551615)"), "from 1 to 8"},
      {chat_call(2, R"("n": 1.5)"), "from 1 to 8"},
      {chat_call(-1), "max_tokens"},
      {chat_call(2, R"("best_of": 100)"), "best_of"},
      {chat_call(2, R"("temprature": 1)"), "temperature"},
      {chat_call(2, R"("n": 1, "n": 2)"), "twice"},
      {chat_call(2, R"("temperature": -1)"), "from 0 to 2"},
      {chat_call(2, R"("top_p": 0)"), "above 0"},
      {chat_call(2, R"("stop": ["a", "b", "c", "d", "e"])"), "at most 4"},
      {chat_call(2, R"("stop": "")"), "bytes"},
      {chat_call(2, R"("stop": ")" + std::string(65, 'x') + "\""), "bytes"},
      {chat_call(2, R"("min_tokens": 3)"), "min_tokens"},
      {chat_call(2, R"("prompt": "x")"), "prompt"},
      {R"({"model": "M"})", "messages"},
      {R"({"model": "M", "messages": []})", "messages"},
      {R"({"model": "M", "messages": [{"role": "wizard", "content": "x"}]})", "role"},
      {R"({"model": "M", "messages": [{"role": "user", )"
       R"("content": [{"type": "image_url", "image_url": "x"}]}]})",
       "text parts"},
      {R"({"model": "M", "messages": [{"role": "user", "content": ")" + std::string(2048, 'x') + R"("}]})",
       "512"}};
  for (const auto& [body, part] : bodies) {
    const Reply reply = rig.ask(post("/v1/chat/completions", body));
    CAPTURE(body.substr(0, 120), reply.body);
    CHECK(reply.status == 400);
    const Json error = Json::parse(reply.body)["error"];
    CHECK(error["type"] == "invalid_request_error");
    CHECK(error["message"].get<std::string>().find(part) != std::string::npos);
  }
  CHECK(serves(rig));
}

TEST_CASE("other paths, methods, models and media types have statuses of their own") {
  const ServerRig rig;
  CHECK(rig.ask(get("/")).status == 404);
  CHECK(rig.ask(get("/v1/chat/completions")).status == 405);
  CHECK(rig.ask(post("/health", "{}")).status == 405);
  CHECK(rig.chat(R"({"model": "other", "messages": [{"role": "user", "content": "x"}]})").status == 404);
  const std::string body = chat_call(1);
  CHECK(
      rig.ask(
             "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\nContent-Length: " +
             std::to_string(body.size()) + "\r\n\r\n" + body)
          .status == 415);
  CHECK(rig.ask(post("/tokenize", R"({"model": "M", "prompt": "x"})")).status == 501);
  CHECK(rig.ask(post("/detokenize", R"({"model": "M", "tokens": [1]})")).status == 501);
}

TEST_CASE("clients that send slowly or nothing lose their connection") {
  RigOptions options;
  options.server.header_timeout = std::chrono::milliseconds(150);
  options.server.body_timeout = std::chrono::milliseconds(150);
  options.server.idle_timeout = std::chrono::milliseconds(150);
  const ServerRig rig(options);
  HttpClient silent(rig.port());
  HttpClient slow(rig.port());
  HttpClient half_a_body(rig.port());
  HttpClient idle(rig.port());
  half_a_body.send("POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{");
  idle.send(get("/health"));
  CHECK(idle.reply().status == 200);
  const auto begun = std::chrono::steady_clock::now();
  for (const char c : std::string("GET /health HTTP/1.1\r\n")) {
    if (!slow.send({c})) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  CHECK(slow.closed_within(std::chrono::seconds(2)));
  CHECK(silent.closed_within(std::chrono::seconds(2)));
  CHECK(half_a_body.closed_within(std::chrono::seconds(2)));
  CHECK(idle.closed_within(std::chrono::seconds(2)));
  CHECK(std::chrono::steady_clock::now() - begun < std::chrono::seconds(3));
  CHECK(serves(rig));
}

TEST_CASE("pipelined requests are answered in order, on one connection") {
  const ServerRig rig;
  HttpClient client(rig.port());
  client.send(post("/v1/chat/completions", chat_call(3)) + get("/version") +
              post("/v1/chat/completions", chat_call(3, R"("stream": true)")) + get("/health"));
  CHECK(client.reply().body.find("chat.completion") != std::string::npos);
  CHECK(client.reply().body.find("version") != std::string::npos);
  CHECK(events(client.reply().body).back() == "[DONE]");
  CHECK(client.reply().status == 200);
}

TEST_CASE("a client that closes half of its connection is taken for gone") {
  const ServerRig rig;
  HttpClient client(rig.port());
  client.send(post("/v1/chat/completions", chat_call(400)));
  REQUIRE(ServerRig::soon([&] { return rig.metric("vllm:num_requests_running") == 1; }));
  client.half_close();
  CHECK(ServerRig::soon([&] { return rig.idle(); }));
  CHECK(serves(rig));
}

TEST_CASE("HTTP/1.0 clients get a stream that ends with the connection") {
  const ServerRig rig;
  const std::string body = chat_call(3, R"("stream": true)");
  const Reply reply =
      rig.ask("POST /v1/chat/completions HTTP/1.0\r\nContent-Length: " + std::to_string(body.size()) +
              "\r\n\r\n" + body);
  CHECK(reply.status == 200);
  CHECK(reply.headers.count("transfer-encoding") == 0);
  CHECK(events(reply.body).back() == "[DONE]");
}

TEST_CASE("with a key everything but health needs it") {
  RigOptions options;
  options.api.api_key = "sesame";
  const ServerRig rig(options);
  for (const char* path : {"/v1/models", "/metrics", "/version", "/nowhere"}) {
    CAPTURE(path);
    CHECK(rig.ask(get(path)).status == 401);
    CHECK(rig.ask(get(path, "Authorization: Bearer sesam\r\n")).status == 401);
    CHECK(rig.ask(get(path, "Authorization: sesame\r\n")).status == 401);
  }
  CHECK(rig.ask(get("/version", "Authorization: Bearer sesame\r\n")).status == 200);
  CHECK(rig.ask(get("/health")).status == 200);
  CHECK(rig.ask(get("/health/ready")).status == 200);
}

}  // namespace
}  // namespace servetwin::test::hostile_test
