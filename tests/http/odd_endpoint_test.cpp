// If these fail, calibrate --endpoint cannot ask servers that take fewer fields than ours, or hangs or
// crashes on one that says nothing sensible.
#include <algorithm>
#include <functional>
#include <netinet/in.h>
#include <nlohmann/json.hpp>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

#include "calibrate/endpoint/endpoint_server.h"
#include "engine/base/error.h"
#include "engine/live/http/http_server.h"
#include "tests/support/catch.h"

namespace servetwin::test::odd_endpoint_test {
namespace {

using Json = nlohmann::json;

const volatile bool kNever = false;

// What a server takes and says.
struct Habits {
  bool takes_ids = true;
  bool takes_texts = true;
  bool takes_ignore_eos = true;
  bool takes_counts_each_event = true;
  bool says_usage = true;
  int status = 200;  // of completions
  std::vector<std::string> models{"odd"};
};

// Answers at once, with one token in each event but the first, which has a role alone.
class OddServer final : public HttpHandler {
 public:
  explicit OddServer(Habits habits) : habits_(std::move(habits)), server_(*this, on_any_port()) {}

  EndpointAddress address() const {
    return endpoint_address("http://127.0.0.1:" + std::to_string(server_.port()));
  }

  std::unique_ptr<HttpExchange> start(const HttpRequest& request, std::function<void()> /*wake*/) override {
    if (request.path == "/v1/models") return ready(200, models());
    const bool is_chat = request.path == "/v1/chat/completions";
    if (!is_chat && request.path != "/v1/completions") return ready(404, "{}");
    if (habits_.status != 200) return ready(habits_.status, R"({"error": "out of order"})");
    const Json body = Json::parse(request.body);
    const bool has_ids = !is_chat && body["prompt"].is_array();
    const bool has_text = !is_chat && body["prompt"].is_string();
    const bool refused = (has_ids && !habits_.takes_ids) || (has_text && !habits_.takes_texts) ||
                         (body.contains("ignore_eos") && !habits_.takes_ignore_eos) ||
                         (counts_each_event(body) && !habits_.takes_counts_each_event);
    return refused ? ready(400, R"({"error": "unknown field"})") : ready(200, stream(body, is_chat));
  }
  std::string error_body(int /*status*/, const std::string& message) const override { return message; }

 private:
  static HttpServerOptions on_any_port() {
    HttpServerOptions options;
    options.port = 0;
    return options;
  }
  static std::unique_ptr<HttpExchange> ready(int status, std::string body) {
    HttpHead head;
    head.status = status;
    return std::make_unique<ReadyExchange>(head, std::move(body));
  }
  static bool counts_each_event(const Json& body) {
    return body.contains("stream_options") && body["stream_options"].contains("continuous_usage_stats");
  }
  std::string models() const {
    Json data = Json::array();
    for (const std::string& name : habits_.models) data.push_back({{"id", name}});
    return Json{{"data", data}}.dump();
  }
  // Three tokens a word, and seven around a conversation.
  static std::int64_t prompt_tokens(const Json& body, bool is_chat) {
    if (!is_chat && body["prompt"].is_array()) return static_cast<std::int64_t>(body["prompt"].size());
    const std::string text = is_chat ? body["messages"][0]["content"] : body["prompt"];
    return 3 * (std::count(text.begin(), text.end(), ' ') + 1) + (is_chat ? 7 : 0);
  }
  std::string stream(const Json& body, bool is_chat) const {
    std::string text;
    const auto event = [&](const Json& choice, std::int64_t tokens, bool counts) {
      Json json{{"choices", choice.is_null() ? Json::array() : Json::array({choice})}};
      if (counts && habits_.says_usage)
        json["usage"] = {{"prompt_tokens", prompt_tokens(body, is_chat)}, {"completion_tokens", tokens}};
      text += "data: " + json.dump() + "\r\n\r\n";
    };
    const bool each = counts_each_event(body);
    const auto most = body["max_tokens"].get<std::int64_t>();
    if (is_chat) event({{"delta", {{"role", "assistant"}, {"content", ""}}}}, 0, each);
    for (std::int64_t i = 1; i <= most; ++i)
      event(is_chat ? Json{{"delta", {{"content", "x"}}}} : Json{{"text", "x"}}, i, each);
    event({{"delta", Json::object()}, {"finish_reason", "length"}}, most, each);
    if (body.contains("stream_options")) event(nullptr, most, true);
    return text + "data: [DONE]\r\n\r\n";
  }

  Habits habits_;
  HttpServer server_;
};

EndpointOptions patient(const std::string& model = "") {
  EndpointOptions options;
  options.model = model;
  options.stop = &kNever;
  return options;
}

std::string refusal(const Habits& habits, const std::string& model = "") {
  const OddServer odd(habits);
  try {
    EndpointServer(odd.address(), patient(model));
  } catch (const ConfigError& error) {
    CHECK(error.problems().front().code == "CAL102");
    CHECK_FALSE(error.problems().front().remedy.empty());
    return error.what();
  }
  return "";
}

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST_CASE("a server of conversations alone is asked in words, of which two calls show the tokens") {
  Habits habits;
  habits.takes_ids = habits.takes_texts = habits.takes_counts_each_event = false;
  const OddServer odd(habits);
  EndpointServer server(odd.address(), patient());
  CHECK(server.dialect().form == PromptForm::kChat);
  CHECK(server.dialect().ignores_eos);
  CHECK_FALSE(server.dialect().counts_each_event);
  CHECK(server.dialect().tokens_per_word == 3);
  CHECK(server.dialect().words_base == 7);
  CHECK_FALSE(server.has_metrics());
  CHECK(server.version() == "unknown");
  CHECK_FALSE(server.max_model_len());
  const TimedAnswer answer = server.ask({{100, 9, 0}}).answers.front();
  CHECK(answer.prompt_tokens == 100);
  CHECK(answer.tokens == 9);
  CHECK(answer.counted == TokenCount::kAtEnd);
  CHECK(answer.marks.size() == 9);
}

TEST_CASE("a server that takes neither ignore_eos nor counts in each event is asked without") {
  Habits habits;
  habits.takes_ignore_eos = habits.takes_counts_each_event = false;
  const OddServer odd(habits);
  const EndpointServer server(odd.address(), patient());
  CHECK(server.dialect().form == PromptForm::kTokenIds);
  CHECK_FALSE((server.dialect().ignores_eos || server.dialect().counts_each_event));
  CHECK(server.dialect().counts);
}

TEST_CASE("without usage token ids are counted as asked, and of texts nobody knows the length") {
  Habits habits;
  habits.says_usage = false;
  {
    const OddServer odd(habits);
    EndpointServer server(odd.address(), patient());
    const TimedAnswer answer = server.ask({{100, 9, 0}}).answers.front();
    CHECK(answer.prompt_tokens == 100);
    CHECK(answer.tokens == 9);
    CHECK(answer.counted == TokenCount::kAsked);
  }
  habits.takes_ids = false;
  CHECK(holds(refusal(habits), "how many tokens a prompt has"));
}

TEST_CASE("several models, none, or a failing server are refused with what it said") {
  Habits habits;
  habits.models = {"a", "b"};
  CHECK(holds(refusal(habits), "serves 2 models: a, b"));
  CHECK(refusal(habits, "b").empty());
  habits.models.clear();
  CHECK(holds(refusal(habits), "--model NAME"));
  habits.models = {"a"};
  habits.status = 500;
  CHECK(holds(refusal(habits), "status 500: {\"error\": \"out of order\"}"));
}

// What a client makes of a server that sends these bytes to one call, again and again where `forever`, and
// then keeps the connection where `holds`.
HttpAnswer answer_to(const std::string& bytes, bool forever, bool holds) {
  const int listening = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  REQUIRE(::bind(listening, reinterpret_cast<sockaddr*>(&address), size) == 0);
  REQUIRE(::listen(listening, 4) == 0);
  ::getsockname(listening, reinterpret_cast<sockaddr*>(&address), &size);
  std::thread server([&] {
    const int socket = ::accept(listening, nullptr, nullptr);
    char request[4096];
    ::recv(socket, request, sizeof(request), 0);
    while (::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL) > 0 && forever) {
    }
    while (holds && ::recv(socket, request, sizeof(request), 0) > 0) {
    }
    ::close(socket);
  });
  const LoadClient client(endpoint_address("http://127.0.0.1:" + std::to_string(ntohs(address.sin_port))), "",
                          &kNever);
  HttpAnswer answer = client.get("/x");
  server.join();
  ::close(listening);
  return answer;
}

TEST_CASE("an answer that the server cuts off is told from one that ends") {
  const HttpAnswer answer =
      answer_to("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\ndata: {}\n\r\n", false, false);
  CHECK(answer.end == CallEnd::kCut);
  CHECK(answer.body() == "data: {}\n");
  CHECK(answer.problem() == "closed the connection within an answer");
}

TEST_CASE("the last event ends an answer whose connection goes on") {
  const HttpAnswer answer =
      answer_to("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n18\r\ndata: {}\n\ndata: [DONE]\n\n\r\n",
                false, true);
  CHECK(answer.end == CallEnd::kComplete);
  CHECK(answer.problem().empty());
}

TEST_CASE("an answer without end is given up, whatever it consists of") {
  const HttpAnswer answer = answer_to("HTTP/1.1 200 OK\r\n\r\n" + std::string(1 << 20, 'x'), true, false);
  CHECK(answer.end == CallEnd::kTooLong);
  CHECK(answer.body().size() <= std::size_t{65} << 20U);
}

TEST_CASE("what a server says reaches a terminal without control characters") {
  CHECK(printable("a\x1b[31m\nb\x7f") == "a?[31m?b?");
}

}  // namespace
}  // namespace servetwin::test::odd_endpoint_test
