// serve: an OpenAI-compatible server in front of a model, or of a simulated deployment paced by the wall
// clock.
#include <chrono>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <string>
#include <thread>

#include "cli/access_log.h"
#include "cli/served_files.h"
#include "cli/served_model.h"
#include "cli/stop_signal.h"
#include "cli/verb.h"
#include "engine/base/unit_text.h"
#include "engine/live/http/http_server.h"
#include "engine/live/http/openai_api.h"
#include "generated/servetwin_build.h"
#include "scenarios/simulated_engine.h"

namespace servetwin {
namespace {

constexpr std::chrono::milliseconds kLookEvery{20};  // for signals

class Serve final : public Verb {
 public:
  using Verb::Verb;

  void declare(Arguments& arguments) override {
    arguments.option("--simulate", "SCENARIO", scenario_, "The deployment that answers, simulated.");
    arguments.repeated("--set", "KEY=VALUE", overrides_.set, "Sets one value, as for simulate.");
    model_.declare(arguments);
    arguments.option("--host", "ADDRESS", server_.host, "Where to listen; by default 127.0.0.1.");
    arguments.option("--port", "N", port_, "By default 8000; 0: any free one.");
    arguments.option("--speed", "X", speed_, "Simulated seconds in a second; by default 1.");
    arguments.option("--served-model-name", "NAME", engine_.name, "The model's name for clients.");
    arguments.option("--api-key", "KEY", api_.api_key, "What clients must show: Authorization: Bearer KEY.");
    arguments.flag("--allow-remote", allow_remote_, "Other machines may call without a key.");
    arguments.option("--max-answers", "N", max_answers_, "Answers under way at most; by default 1024.");
    arguments.option("--drain", "TIME", drain_, "How long SIGTERM waits for answers; by default 30s.");
    arguments.flag("--log-json", log_json_, "A line of JSON on standard error for each request.");
    files_.declare(arguments);
  }

  ExitCode run(Terminal& terminal) override {
    read_options();
    auto log = spdlog::stderr_logger_mt("serve");
    log->set_pattern("%v");
    if (log_json_) {
      server_.on_done = [&log](const AccessRecord& record) { log->info(access_line(record)); };
    }
    AnswerBoard board;
    std::optional<Scenario> scenario;
    if (!scenario_.empty()) scenario = load_scenario(scenario_, overrides_);
    const std::size_t replicas = scenario ? static_cast<std::size_t>(scenario->spec().replicas) : 1;
    engine_.observers = files_.open(replicas);
    {
      const std::unique_ptr<CompletionEngine> engine =
          scenario ? std::make_unique<SimulatedEngine>(*scenario, board, engine_) : live(board, terminal);
      OpenAiApi api(*engine, board, api_);
      catch_stop_signals();
      const HttpServer server(api, server_);
      terminal.out(fmt::format("listening on http://{}:{}\n", shown_host(), server.port()));
      terminal.flush();
      while (!*stop_requested()) std::this_thread::sleep_for(kLookEvery);
      api.drain();
      finish(server, terminal);
    }
    for (const std::string& path : files_.commit()) terminal.out(path + "\n");
    spdlog::drop("serve");
    return ExitCode::kOk;
  }

 private:
  std::unique_ptr<CompletionEngine> live(AnswerBoard& board, Terminal& terminal) const {
    LiveEngineOptions options = model_.options(engine_.name);
    options.observers = engine_.observers;
    auto engine = std::make_unique<LiveEngine>(std::move(options), board);
    terminal.err(ServedModel::describe(*engine));
    return engine;
  }

  void read_options() {
    api_.version = kVersion;
    if (scenario_.empty() == !model_.is_given()) {
      throw UsageError("servetwin serve: give either --model MODEL or --simulate SCENARIO");
    }
    if (model_.is_given() && (!overrides_.set.empty() || speed_ != "1")) {
      throw UsageError("servetwin serve: --set and --speed go with --simulate, not with --model");
    }
    if (!model_.is_given() && model_.has_options()) {
      throw UsageError("servetwin serve: KV cache, sizes, threads and seed are those of the scenario");
    }
    server_.port = static_cast<std::uint16_t>(serve_number("--port", port_, 0, 65535));
    api_.max_answers = serve_number("--max-answers", max_answers_, 1, 1'000'000);
    const auto speed = parse_decimal(speed_);
    if (!speed || *speed.value < 1e-3 || *speed.value > 1e4) {
      throw UsageError("servetwin serve: --speed takes a number from 0.001 to 10000, not " + speed_);
    }
    engine_.speed = *speed.value;
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

  std::string scenario_;
  std::string port_ = "8000";
  std::string speed_ = "1";
  std::string max_answers_ = "1024";
  std::string drain_ = "30s";
  ScenarioOverrides overrides_;
  ServedModel model_;
  ServedFiles files_;
  HttpServerOptions server_;
  ApiOptions api_;
  SimulatedEngineOptions engine_;
  Duration drain_time_{0};
  bool allow_remote_ = false;
  bool log_json_ = false;
};

const Registered<Verb, Serve> kServe{"serve",
                                     "Answers OpenAI clients, with a model or with a simulated deployment."};

}  // namespace
}  // namespace servetwin
