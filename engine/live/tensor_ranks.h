// What the ranks of a tensor-parallel group tell each other in a forward pass.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/base/token_id.h"
#include "engine/models/tensor_parallel.h"
#include "kernels/collectives/communicator.h"

namespace servetwin {

// Hidden states are [tokens][hidden] in f32. Products are on all tokens, with a rank's part of the weights;
// what lies between them is on the rank's own tokens. Those are all of them: then partial results are summed
// by an all-reduce. With sequence parallelism they are token_share(): then they are summed by a
// reduce-scatter, and spread by an all-gather before the next product. Sums are in rank order, so both ways
// give the same bits, on every rank. One rank alone tells nobody anything.
class TensorRanks {
 public:
  // Without a group there is one rank. The group must outlive it.
  TensorRanks(const ModelSpec& spec, Communicator* group, bool sequence_parallel);

  // A step of so many tokens begins.
  void begin(std::int64_t tokens);
  std::int64_t own_tokens() const { return own_.count; }

  // Own tokens' rows of the table of all ranks, of which this rank has vocabulary_share().
  void embed(const StoredMatrix& table, const std::vector<TokenId>& tokens, std::vector<float>& output);
  // From own tokens to all of them.
  void spread(std::vector<float>& hidden);
  // From this rank's partial results for all tokens to the sums over all ranks for its own.
  void collect(std::vector<float>& hidden);
  // From [rows][columns of this rank] to [rows][vocab], on every rank, valid until the next call; pieces are
  // filled up to largest_share() columns. No rows: nothing is sent.
  const float* gather_logits(const std::vector<float>& mine, std::int64_t rows);

 private:
  bool is_alone() const { return place_.size == 1; }

  std::int64_t hidden_;
  std::int64_t vocab_;
  Communicator* group_;
  RankPlace place_;
  bool sequence_parallel_;
  std::int64_t tokens_ = 0;
  RankShare own_;
  std::vector<float> piece_;  // of one rank, filled up
  std::vector<float> all_;    // of all ranks, filled up
  std::vector<float> logits_;
};

}  // namespace servetwin
