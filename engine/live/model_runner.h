// Runs steps on one replica's model: keeps the sequences' tokens, feeds rows, samples.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/decoding/sampler.h"
#include "engine/live/content_text.h"
#include "engine/live/forward_flops.h"
#include "engine/live/rank_team.h"
#include "engine/live/runner_options.h"

namespace servetwin {

inline constexpr std::int64_t kNoStop = std::numeric_limits<std::int64_t>::max();

// Goes to the client, never to the core.
struct OutputToken {
  RequestId request = kNoRequest;
  std::int64_t index = 0;  // among the request's outputs, from 0; again when outputs were discarded
  SampledToken sampled;
};

// Told of each output as soon as it is sampled, on the runner's thread. True: the answer ends with it.
using OutputListener = std::function<bool(const OutputToken&)>;

// What the runner must know of a request before its first row.
struct SequenceStart {
  RequestId request = kNoRequest;
  std::vector<TokenId> prompt;
  SamplingParams sampling;
  std::int64_t stop_after = kNoStop;  // ends with this output, whatever it is
  TextPlace place;
  OutputListener listener;  // of this request alone; may be empty
};

// Everything that happens to it comes in the order in which the core decided it, from one thread. So a row's
// input token was sampled by then, also where its step was planned before that (two steps in flight). It
// keeps the tokens and samples, whatever number of ranks computes the logits.
class ModelRunner {
 public:
  // Told of each output of every request, on the runner's thread. May be empty.
  using Sink = std::function<void(const OutputToken&)>;

  // A rank for each of `parts`, which are those of SplitWeights. They and the text must outlive it.
  ModelRunner(const ModelSpec& spec,
              std::span<const ModelWeights> parts,
              const RunnerOptions& options,
              ContentText& text,
              Sink sink);
  // One rank.
  ModelRunner(const ModelSpec& spec,
              const ModelWeights& weights,
              const RunnerOptions& options,
              ContentText& text,
              Sink sink)
      : ModelRunner(spec, std::span(&weights, 1), options, text, std::move(sink)) {}

  // The thread that will call the rest takes its place.
  void take_place() { ranks_.first().take_place(); }
  void start(SequenceStart start);
  // Returns the requests that end with this step, in order of id. Throws RankError when a rank fails, as all
  // that reaches the ranks does.
  std::vector<RequestId> run(const StepBatch& batch);
  // Of a plan that ran nothing; run() does those of its batch.
  void swap_out(const std::vector<BlockCopy>& copies);
  // Block `to` of the cache becomes what block `from` is.
  void copy_block(std::int32_t from, std::int32_t to);
  // Goes back to `outputs` outputs: what was sampled since is discarded, and so is what was swapped out.
  void truncate(RequestId request, std::int64_t outputs);
  void forget(RequestId request) {
    sequences_.erase(request);
    drop(request);
  }

  std::size_t num_sequences() const { return sequences_.size(); }
  const std::vector<TokenId>& tokens(RequestId request) const;
  FlopCount flops() const;
  CollectiveCheck collectives() const;

 private:
  struct Sequence {
    SequenceStart start;
    std::vector<TokenId> tokens;  // prompt and outputs
    std::int64_t written = 0;     // tokens whose KV it had after its last row
    bool ended = false;
  };

  void drop(RequestId request);
  void swap_in(const BlockCopy& blocks);
  std::vector<RequestId> compute(const StepBatch& batch);
  const float* forward(const StepBatch& batch);
  void gather(const StepBatch& batch);
  void check_reused(const StepBatch& batch, std::size_t row, const Sequence& sequence) const;
  bool emit(Sequence& sequence, SampledToken sampled);

  ModelSpec spec_;
  SplitLayout layout_;
  bool kv_cache_;
  std::vector<ForwardFlops> formulas_;  // by rank
  FlopCount flops_;
  CollectiveVolume volume_;  // by formula
  RankTeam ranks_;
  ContentText& text_;
  Sink sink_;
  Sampler sampler_;
  std::map<RequestId, Sequence> sequences_;
  std::set<RequestId> on_host_;  // whose copies the ranks keep
  std::vector<TokenId> inputs_;
  std::vector<TokenId> cached_tokens_;  // by slot: whose key and value it holds; -1: never written
};

}  // namespace servetwin
