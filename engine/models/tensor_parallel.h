// Splits a model's tensors over the ranks of a tensor-parallel group: whose heads, columns and rows of the
// vocabulary are whose.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/models/weights.h"

namespace servetwin {

inline constexpr const char* kCodeNotSplit = "CFG203";

// A rank's place among `size` that compute one model together.
struct RankPlace {
  int rank = 0;
  int size = 1;
};

// How the ranks of a group share what is not simply split.
struct SplitLayout {
  bool sequence_parallel = false;  // outside the products a rank has a run of the tokens, not all of them
  bool expert_parallel = false;    // an expert is whole on one rank; needs sequence_parallel
};

// A run of something that ranks share.
struct RankShare {
  std::int64_t first = 0;
  std::int64_t count = 0;

  std::int64_t end() const { return first + count; }
  bool has(std::int64_t index) const { return index >= first && index < end(); }
};
// Those of two ranks differ by one at most.
RankShare even_share(std::int64_t all, RankPlace place);
// Token ids whose rows of the embedding and of the output head a rank holds.
inline RankShare vocabulary_share(std::int64_t vocab, RankPlace place) { return even_share(vocab, place); }
// Experts that a rank holds with expert parallelism.
inline RankShare expert_share(std::int64_t experts, RankPlace place) { return even_share(experts, place); }
// Tokens of a step that a rank has with sequence parallelism: all as many as the first, but for the last
// ones, which may have none.
RankShare token_share(std::int64_t tokens, RankPlace place);
// The largest of all ranks: what pieces are filled up to, so that all are equally long.
inline std::int64_t largest_share(std::int64_t all, int ranks) { return ceil_div(all, ranks); }

// Why a model of these shapes cannot be computed by so many ranks, with the numbers; empty: it can.
std::string why_not_split(const ModelSpec& model, int ranks, const SplitLayout& layout = {});
// Numbers of ranks up to `most` that can, as words: "1, 2 or 4"; or "no expert parallelism" where none can
// with it.
std::string ranks_that_split(const ModelSpec& model, int most, const SplitLayout& layout = {});

// What one rank computes: its heads, its KV heads (kv_heads_per_rank()), its share of the feed-forward
// widths. The vocabulary is still the whole model's; vocabulary_share() says which part the weights hold.
ModelSpec rank_spec(const ModelSpec& model, RankPlace place, const SplitLayout& layout = {});

// A rank's part of the weights. Outputs of query, key, value, gate and up are split by head and by width, so
// are inputs of the output and down projections; embedding and head by the vocabulary. Fewer KV heads than
// ranks: some ranks hold the same. Latents, routers and norms are whole on every rank. With expert
// parallelism a rank holds expert_share() of the experts, and shared experts whole. Parts that are
// consecutive rows are views of `weights`, others are copies. Throws ConfigError, which names the tensor,
// where a cut would go through a block of a quantised format.
ModelWeights rank_weights(const ModelSpec& model,
                          const ModelWeights& weights,
                          RankPlace place,
                          const SplitLayout& layout = {});

// Of all tensors that a rank holds, whether or not others share the memory.
Bytes stored_bytes(const ModelWeights& weights);

// The parts of all ranks, with what they are views of. Of what they copy, the whole tensor is let go layer by
// layer, so memory grows by one layer at most.
class SplitWeights {
 public:
  SplitWeights() = default;
  SplitWeights(const ModelSpec& model, ModelWeights whole, int ranks, const SplitLayout& layout = {});
  SplitWeights(SplitWeights&&) = default;
  SplitWeights& operator=(SplitWeights&&) = default;

  // By rank; valid also after this was moved.
  std::span<const ModelWeights> parts() const { return parts_; }

 private:
  ModelWeights whole_;
  std::vector<ModelWeights> parts_;
};

}  // namespace servetwin
