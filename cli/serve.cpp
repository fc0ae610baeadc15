// serve: an OpenAI-compatible server in front of a model, or of a simulated deployment paced by the wall
// clock.
#include <chrono>
#include <fmt/format.h>
#include <memory>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <string>
#include <thread>

#include "cli/access_log.h"
#include "cli/served_engine.h"
#include "cli/stop_signal.h"
#include "cli/verb.h"
#include "engine/base/error.h"
#include "engine/base/unit_text.h"
#include "engine/live/http/http_server.h"
#include "engine/live/http/openai_api.h"
#include "generated/servetwin_build.h"

namespace servetwin {
namespace {

constexpr std::chrono::milliseconds kLookEvery{20};  // for signals

class Serve final : public Verb {
 public:
  using Verb::Verb;

  void declare(Arguments& arguments) override {
    engine_.declare(arguments);
    arguments.option("--host", "ADDRESS", server_.host, "Where to listen; by default 127.0.0.1.");
    arguments.option("--port", "N", port_, "By default 8000; 0: any free one.");
    arguments.option("--api-key", "KEY", api_.api_key, "What clients must show: Authorization: Bearer KEY.");
    arguments.flag("--allow-remote", allow_remote_, "Other machines may call without a key.");
    arguments.option("--max-answers", "N", max_answers_, "Answers under way at most; by default 1024.");
    arguments.option("--drain", "TIME", drain_, "How long SIGTERM waits for answers; by default 30s.");
    arguments.flag("--log-json", log_json_, "A line of JSON on standard error for each request.");
    arguments.option("--out", "DIR", out_,
                     "Writes the session there: requests, steps, timeline, journal, summary.");
    arguments.flag("--force", force_, "Replaces the files of an earlier run in DIR.");
  }

  ExitCode run(Terminal& terminal) override {
    read_options();
    auto log = spdlog::stderr_logger_mt("serve");
    log->set_pattern("%v");
    if (log_json_) {
      server_.on_done = [&log](const AccessRecord& record) { log->info(access_line(record)); };
    }
    AnswerBoard board;
    ServedFiles files(out_, force_);
    const std::unique_ptr<CompletionEngine> engine = engine_.start(board, files, terminal);
    {
      OpenAiApi api(*engine, board, api_);
      catch_stop_signals();
      const HttpServer server(api, server_);
      terminal.out(fmt::format("listening on http://{}:{}\n", shown_host(), server.port()));
      terminal.flush();
      while (!*stop_requested() && engine->failure().empty()) std::this_thread::sleep_for(kLookEvery);
      api.drain();
      finish(server, terminal);
    }
    for (const std::string& path : files.commit(engine->stop())) terminal.out(path + "\n");
    spdlog::drop("serve");
    if (!engine->failure().empty()) throw ExecutionError(engine->failure());
    return ExitCode::kOk;
  }

 private:
  void read_options() {
    api_.version = kVersion;
    engine_.check();
    server_.port = static_cast<std::uint16_t>(serve_number("--port", port_, 0, 65535));
    api_.max_answers = serve_number("--max-answers", max_answers_, 1, 1'000'000);
    const auto drain = parse_duration(drain_);
    if (!drain || *drain.value < Duration{0}) {
      throw UsageError("servetwin serve: --drain takes a time such as 30s, not " + drain_);
    }
    drain_time_ = *drain.value;
    const bool local = server_.host.rfind("127.", 0) == 0 || server_.host == "::1";
    if (!local && api_.api_key.empty() && !allow_remote_) {
      throw UsageError("servetwin serve: --host " + server_.host +
                       " lets other machines call: give --api-key KEY, or --allow-remote if they may");
    }
  }

  std::string shown_host() const {
    return server_.host.find(':') == std::string::npos ? server_.host : "[" + server_.host + "]";
  }

  // Lets what is under way end; what is left then is given up.
  void finish(const HttpServer& server, Terminal& terminal) const {
    terminal.err("draining: no new completions; a second signal ends at once\n");
    const auto latest = std::chrono::steady_clock::now() + drain_time_;
    while (server.num_open() > 0 && std::chrono::steady_clock::now() < latest) {
      std::this_thread::sleep_for(kLookEvery);
    }
    if (server.num_open() > 0) terminal.err(fmt::format("gave up {} requests\n", server.num_open()));
  }

  std::string port_ = "8000";
  std::string max_answers_ = "1024";
  std::string drain_ = "30s";
  ServedEngine engine_;
  std::string out_;
  bool force_ = false;
  HttpServerOptions server_;
  ApiOptions api_;
  Duration drain_time_{0};
  bool allow_remote_ = false;
  bool log_json_ = false;
};

const Registered<Verb, Serve> kServe{"serve",
                                     "Answers OpenAI clients, with a model or with a simulated deployment."};

}  // namespace
}  // namespace servetwin
