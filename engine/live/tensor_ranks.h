// What the ranks of a tensor-parallel group tell each other in a forward pass.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/base/token_id.h"
#include "engine/models/tensor_parallel.h"
#include "kernels/collectives/communicator.h"

namespace servetwin {

// Two all-reduces a layer, of [tokens][hidden] in f32: after attention and after the feed-forward part. One
// more for the embedding, whose rows are shared out, and an all-gather of the sampled rows' logits, in equal
// pieces of largest_share() columns. Sums are in rank order, so all ranks go on with the same bits. One rank
// alone tells nobody anything.
class TensorRanks {
 public:
  // Without a group there is one rank. The group must outlive it.
  TensorRanks(const ModelSpec& spec, Communicator* group);

  // output[tokens][hidden]: rows of the table of all ranks, of which this rank has vocabulary_share().
  void embed(const StoredMatrix& table, const std::vector<TokenId>& tokens, std::vector<float>& output);
  // `partial` becomes the sum of all ranks' partial results.
  void sum(std::vector<float>& partial);
  // From [rows][columns of this rank] to [rows][vocab], on every rank, valid until the next call. No rows:
  // nothing is sent.
  const float* gather_logits(const std::vector<float>& mine, std::int64_t rows);

 private:
  bool is_alone() const { return place_.size == 1; }

  std::int64_t vocab_;
  Communicator* group_;
  RankPlace place_;
  VocabularyShare share_;
  std::vector<float> piece_;     // [rows][largest share]
  std::vector<float> gathered_;  // [ranks][rows][largest share]
  std::vector<float> logits_;
};

// What one rank has to call and send for it.
struct CollectiveVolume {
  CollectiveCount all_reduce;
  CollectiveCount all_gather;

  CollectiveVolume& operator+=(const CollectiveVolume& other);
  bool operator==(const CollectiveVolume&) const = default;
};
struct CollectiveCheck {
  CollectiveVolume counted;
  CollectiveVolume by_formula;
};
// Of a forward pass on so many tokens, some of their rows sampled, by formula; of one rank nothing.
CollectiveVolume forward_volume(const ModelSpec& model, int ranks, std::int64_t tokens, std::int64_t sampled);
// As counted by a rank; a null group has counted nothing.
CollectiveVolume counted_volume(const Communicator* group);

}  // namespace servetwin
