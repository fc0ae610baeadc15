// A server over a small simulated deployment, on a free port of the loopback interface.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "engine/live/http/http_server.h"
#include "engine/live/http/openai_api.h"
#include "scenarios/simulated_engine.h"
#include "tests/http/http_client.h"

namespace servetwin::test {

struct RigOptions {
  std::string engine;  // more keys of the scenario's engine
  double speed = 1;
  ApiOptions api;
  HttpServerOptions server;
  std::string limits = "max_num_seqs: 8, max_num_batched_tokens: 256, max_model_len: 512, num_blocks: 400";
  std::string cost = "{model: linear, base: 1ms, per_token_ns: 1000, per_context_ns: 1}";
};

class ServerRig {
 public:
  explicit ServerRig(const RigOptions& options = {})
      : scenario_(parse_scenario(text(options), "rig.yaml")),
        engine_(scenario_, board_, {"M", options.speed, std::chrono::minutes(10)}),
        api_(engine_, board_, options.api),
        server_(api_, on_free_port(options.server)) {}

  std::uint16_t port() const { return server_.port(); }
  OpenAiApi& api() { return api_; }
  std::size_t num_open() const { return server_.num_open(); }

  Reply ask(const std::string& request) const {
    HttpClient client(port());
    client.send(request);
    return client.reply();
  }
  Reply chat(const std::string& body) const { return ask(post("/v1/chat/completions", body)); }

  // A value of the metrics by the start of its line.
  double metric(const std::string& start) const {
    const std::string text = ask(get("/metrics")).body;
    std::size_t at = text.rfind('\n' + start);
    if (at == std::string::npos) throw std::runtime_error("no metric " + start);
    at = text.find(' ', text.find('}', at));
    return std::stod(text.substr(at));
  }
  bool idle() const {
    return metric("vllm:num_requests_running") == 0 && metric("vllm:num_requests_waiting") == 0 &&
           metric("vllm:kv_cache_usage_perc") == 0;
  }
  template <class Condition>
  static bool soon(const Condition& condition,
                   std::chrono::milliseconds patience = std::chrono::seconds(10)) {
    const auto latest = std::chrono::steady_clock::now() + patience;
    while (!condition()) {
      if (std::chrono::steady_clock::now() > latest) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return true;
  }

 private:
  static HttpServerOptions on_free_port(HttpServerOptions options) {
    options.port = 0;
    return options;
  }
  static std::string text(const RigOptions& options) {
    return "apiVersion: servetwin/v1\n"
           "kind: Scenario\n"
           "metadata: {name: rig}\n"
           "spec:\n"
           "  model: servetwin/tiny-llama-random\n"
           "  device: cpu\n"
           "  engine: {" +
           options.limits + options.engine +
           "}\n"
           "  workload:\n"
           "    arrivals: {process: poisson, rate: 1/s}\n"
           "    lengths: {input: 10, output: {distribution: uniform, low: 5, high: 30}}\n"
           "    num_requests: 1\n"
           "  cost: " +
           options.cost + '\n';
  }

  Scenario scenario_;
  AnswerBoard board_;
  SimulatedEngine engine_;
  OpenAiApi api_;
  HttpServer server_;
};

// A chat call with an answer of exactly so many tokens; `more` are further fields.
inline std::string chat_call(std::int64_t tokens, const std::string& more = "") {
  return R"({"model": "M", "messages": [{"role": "user", "content": "Hi"}], "ignore_eos": true, )"
         R"("max_tokens": )" +
         std::to_string(tokens) + (more.empty() ? "" : ", " + more) + "}";
}

}  // namespace servetwin::test
