// Answers clients with a simulated deployment: real scheduling and timing, drawn words.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "engine/live/http/completion_engine.h"
#include "engine/metrics/recorder.h"
#include "engine/models/tokenizer/stop_strings.h"
#include "engine/workload/traffic.h"
#include "scenarios/assemble.h"
#include "scenarios/paced_backend.h"
#include "scenarios/scenario.h"

namespace servetwin {

struct SimulatedEngineOptions {
  std::string name;                            // of the model, for clients; empty: the scenario's
  double speed = 1;                            // as PacedOptions
  Duration timeout{std::chrono::minutes(10)};  // of a request, in simulated time
  std::vector<Observer*> observers{};          // told after the recorder, on the engine's thread
  JournalWriter* journal = nullptr;            // one of them; told of requests too
};

// The scenario's own workload does not run; only its answer lengths are used: an answer whose client does not
// ignore EOS ends by itself after a length drawn from them.
class SimulatedEngine final : public CompletionEngine, private PacedListener {
 public:
  // Serves from now on, on a thread of its own. Throws ConfigError for what assemble() refuses. The listener
  // must outlive it.
  SimulatedEngine(const Scenario& scenario, AnswerListener& listener, SimulatedEngineOptions options);
  // Ends at once; the listener hears nothing more.
  ~SimulatedEngine() override;
  SimulatedEngine(const SimulatedEngine&) = delete;
  SimulatedEngine& operator=(const SimulatedEngine&) = delete;

  const ModelCard& card() const override { return card_; }
  Prompt prepare(const PromptInput& input) const override;
  RequestId new_id() override { return RequestId{next_id_++}; }
  bool submit(RequestId id, CompletionRequest request) override;
  void cancel(RequestId id) override { backend_->cancel(id); }
  bool scrape(RequestId id) override { return backend_->ask(id); }
  const Cluster& stop() override;

 private:
  // What is told of an answer under way.
  struct Telling {
    std::uint64_t text = 0;  // names it
    std::int64_t told = 0;   // tokens
    std::int64_t min_tokens = 0;
    std::optional<StopStrings> stops;

    std::string next();
  };

  void on_outputs(RequestId request, std::int64_t outputs) override;
  void on_end(const RequestRecord& record) override;
  void on_question(RequestId ticket, Time now) override;
  std::int64_t length_of(const CompletionRequest& request, Telling telling) const;
  static std::string tell(Telling& telling, std::int64_t outputs);

  const Scenario& scenario_;
  AnswerListener& listener_;
  SimulatedEngineOptions options_;
  ModelCard card_;
  std::optional<Traffic> lengths_;  // none: answers are as long as they may be
  RunParts parts_;
  Recorder recorder_;
  std::unique_ptr<Cluster> cluster_;
  std::unique_ptr<PacedBackend> backend_;
  std::atomic<std::uint32_t> next_id_{0};
  std::mutex mutex_;
  std::map<RequestId, Telling> tellings_;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace servetwin
