// The server's set-up, and the calls that most tests make.
#include "tests/http/live_rig.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/support/catch.h"
#include "tests/support/tiny_llama.h"

namespace servetwin::test {

ModelSpec live_rig_spec() {
  ModelSpec spec = tiny_llama(454, 1024);
  spec.layers = 2;
  spec.hidden = 32;
  spec.heads = 4;
  spec.kv_heads = 2;
  spec.intermediate = 48;
  return spec;
}

LiveRig::LiveRig(const std::string& name,
                 const std::string& tokenizer_config,
                 const std::function<void(LiveEngineOptions&)>& change)
    : folder_(name, live_rig_spec(), random_weights(live_rig_spec(), 7)) {
  std::ifstream in(std::string(SERVETWIN_SOURCE_DIR) + "/tests/oracles/tokenizers/smollm.json");
  std::ostringstream text;
  text << in.rdbuf();
  folder_.write("tokenizer.json", text.str());
  folder_.write("tokenizer_config.json", tokenizer_config);
  LiveEngineOptions options;
  options.model = folder_.path();
  options.name = "M";
  options.engine.num_blocks = Blocks{200};
  options.engine.max_num_seqs = 8;
  options.engine.max_num_batched_tokens = Tokens{64};
  if (change) change(options);
  engine_ = std::make_unique<LiveEngine>(options, board_);
  api_ = std::make_unique<OpenAiApi>(*engine_, board_, ApiOptions{});
  HttpServerOptions server;
  server.port = 0;
  server_ = std::make_unique<HttpServer>(*api_, server);
}

Reply LiveRig::ask(const std::string& path, const Json& body) const {
  HttpClient client(port());
  client.send(post(path, body.dump()));
  return client.reply();
}

Json LiveRig::answer(const std::string& path, const Json& body) const {
  const Reply reply = ask(path, body);
  INFO(reply.body);
  REQUIRE(reply.status == 200);
  return Json::parse(reply.body);
}

std::string LiveRig::text(const Json& body) const {
  return answer("/v1/completions", body)["choices"][0]["text"];
}

std::string LiveRig::metrics() const {
  HttpClient client(port());
  client.send(get("/metrics"));
  return client.reply().body;
}

Json text_call(const std::string& prompt, std::int64_t max_tokens) {
  return {{"model", "M"}, {"prompt", prompt}, {"max_tokens", max_tokens}, {"temperature", 0}};
}

Json text_call(const std::string& prompt, std::int64_t max_tokens, const Json& more) {
  Json body = text_call(prompt, max_tokens);
  body.update(more);
  return body;
}

}  // namespace servetwin::test
