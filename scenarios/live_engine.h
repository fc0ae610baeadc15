// Answers clients with a model that runs here: the same core and executor as a live run, fed by requests.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "engine/live/http/completion_engine.h"
#include "engine/live/live_backend.h"
#include "engine/live/model_text.h"
#include "engine/metrics/recorder.h"
#include "engine/models/tokenizer/detokenizer.h"
#include "engine/serving/config.h"

namespace servetwin {

struct LiveEngineOptions {
  std::string model;        // as for named_model(); it must have weights
  std::string name;         // for clients; empty: that of the model
  EngineConfig engine;      // num_blocks is required; without max_model_len what model and cache allow
  int ranks = 1;            // tensor-parallel
  SplitLayout layout{};     // what they share besides
  int threads = 1;          // that compute, of each rank
  std::vector<int> cpus{};  // of those, a core each; empty: nothing is pinned
  DType kv_dtype = DType::kF32;
  std::uint64_t seed = 1;                      // of drawn weights, and of answers whose client gives none
  std::chrono::milliseconds deadline{60'000};  // longest wait of one rank for another
  std::function<void(int rank, StepId step)> on_rank_step{};  // each calls it before it computes; may throw
  std::vector<Observer*> observers{};  // told after the recorder, on the engine's thread
  JournalWriter* journal = nullptr;    // one of them; told of requests too
};

// With everything that follows from the model. Throws ConfigError for one that cannot be served.
LiveEngineOptions completed(LiveEngineOptions options);

class LiveEngine final : public CompletionEngine, private Observer {
 public:
  // Loads the model, then serves on threads of its own. Throws ConfigError for a model that cannot be served.
  // The listener must outlive it.
  LiveEngine(LiveEngineOptions options, AnswerListener& listener);
  // Ends after the step under way; the listener hears nothing more then.
  ~LiveEngine() override;
  LiveEngine(const LiveEngine&) = delete;
  LiveEngine& operator=(const LiveEngine&) = delete;

  const ModelCard& card() const override { return card_; }
  Prompt prepare(const PromptInput& input) const override;
  std::vector<TokenId> tokenize(const PromptInput& input, bool framed) const override;
  std::string detokenize(const std::vector<TokenId>& tokens) const override;
  RequestId new_id() override { return RequestId{next_id_++}; }
  bool submit(RequestId id, CompletionRequest request) override;
  void cancel(RequestId id) override { backend_->cancel(id); }
  bool scrape(RequestId id) override;
  std::string failure() const override;
  const Cluster& stop() override;

  const ModelSpec& model() const { return spec_; }
  const EngineConfig& engine() const { return options_.engine; }
  DType kv_dtype() const { return options_.kv_dtype; }
  int ranks() const { return options_.ranks; }
  // What each rank holds, as a line; empty for one rank.
  std::string ranks_text() const;

 private:
  class Silence;

  // An answer under way.
  struct Answer {
    Detokenizer detokenizer;
    std::int64_t told = 0;  // tokens
    bool reports = false;   // log-probabilities
    std::int64_t characters = 0;
  };

  void run();
  void on_end(const RequestRecord& record) override;
  bool hear(const OutputToken& output);
  NamedLogprob named(TokenId token, float logprob) const;
  TokenReport report(Answer& answer, const SampledToken& sampled) const;
  void answer_scrape(RequestId ticket, Time now);

  LiveEngineOptions options_;
  AnswerListener& listener_;
  ModelSpec spec_;
  SplitWeights weights_;
  ModelText text_;
  ContentText content_;
  ModelCard card_;
  Recorder recorder_;
  std::atomic<std::uint32_t> next_id_{0};
  mutable std::mutex mutex_;
  std::string failure_;
  std::map<RequestId, Answer> answers_;
  std::unique_ptr<RequestSource> source_;
  std::unique_ptr<Cluster> cluster_;
  std::unique_ptr<LiveBackend> backend_;  // goes before the cluster
  std::thread thread_;                    // last: it uses all of the above
};

}  // namespace servetwin
