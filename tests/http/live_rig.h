// A random model with a small trained tokenizer behind a server, on a free port of the loopback interface.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "engine/live/http/http_server.h"
#include "engine/live/http/openai_api.h"
#include "scenarios/live_engine.h"
#include "tests/http/http_client.h"
#include "tests/support/tiny_checkpoint.h"

namespace servetwin::test {

using Json = nlohmann::json;

inline constexpr const char* kTemplate =
    R"({"bos_token": "<s>", "eos_token": "</s>", "chat_template":
        "{% for m in messages %}<|im_start|>{{m.role}}\n{{m.content}}<|im_end|>{% endfor %}<|im_start|>"})";

ModelSpec live_rig_spec();

class LiveRig {
 public:
  explicit LiveRig(const std::string& name,
                   const std::string& tokenizer_config = kTemplate,
                   const std::function<void(LiveEngineOptions&)>& change = {});

  std::string folder() const { return folder_.path(); }
  std::uint16_t port() const { return server_->port(); }
  Reply ask(const std::string& path, const Json& body) const;
  // Of a request that must succeed.
  Json answer(const std::string& path, const Json& body) const;
  std::string text(const Json& body) const;
  std::string metrics() const;
  const LiveEngine& engine() const { return *engine_; }

 private:
  TinyCheckpoint folder_;
  AnswerBoard board_;
  std::unique_ptr<LiveEngine> engine_;
  std::unique_ptr<OpenAiApi> api_;
  std::unique_ptr<HttpServer> server_;
};

// The body of a greedy completion, with fields beside or instead.
Json text_call(const std::string& prompt, std::int64_t max_tokens);
Json text_call(const std::string& prompt, std::int64_t max_tokens, const Json& more);

}  // namespace servetwin::test
