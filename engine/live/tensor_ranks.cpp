// Rows of others are zeros before a sum; pieces of logits are laid side by side after a gather.
#include "engine/live/tensor_ranks.h"

#include <algorithm>
#include <span>

#include "kernels/embedding/embedding.h"

namespace servetwin {

TensorRanks::TensorRanks(const ModelSpec& spec, Communicator* group) : vocab_(spec.vocab), group_(group) {
  if (group != nullptr) place_ = {group->rank(), group->size()};
  share_ = vocabulary_share(vocab_, place_);
}

void TensorRanks::embed(const StoredMatrix& table,
                        const std::vector<TokenId>& tokens,
                        std::vector<float>& output) {
  const auto count = static_cast<std::int64_t>(tokens.size());
  output.resize(static_cast<std::size_t>(count * table.columns));
  if (is_alone()) return embedding(table.view(), tokens.data(), count, output.data());
  float* row = output.data();
  for (const TokenId token : tokens) {
    const auto local = static_cast<std::int32_t>(token - share_.first);
    if (local >= 0 && local < share_.count) {
      embedding(table.view(), &local, 1, row);
    } else {
      std::fill_n(row, table.columns, 0.0F);
    }
    row += table.columns;
  }
  sum(output);
}

void TensorRanks::sum(std::vector<float>& partial) {
  if (!is_alone()) group_->all_reduce(partial);
}

const float* TensorRanks::gather_logits(const std::vector<float>& mine, std::int64_t rows) {
  if (is_alone() || rows == 0) return mine.data();
  const std::int64_t width = largest_share(vocab_, place_.size);
  piece_.assign(static_cast<std::size_t>(rows * width), 0.0F);
  for (std::int64_t row = 0; row < rows; ++row)
    std::copy_n(mine.begin() + row * share_.count, share_.count, piece_.begin() + row * width);
  gathered_.resize(piece_.size() * static_cast<std::size_t>(place_.size));
  group_->all_gather(std::as_bytes(std::span(piece_)), std::as_writable_bytes(std::span(gathered_)));
  logits_.resize(static_cast<std::size_t>(rows * vocab_));
  for (int rank = 0; rank < place_.size; ++rank) {
    const VocabularyShare share = vocabulary_share(vocab_, {rank, place_.size});
    for (std::int64_t row = 0; row < rows; ++row) {
      std::copy_n(gathered_.begin() + (rank * rows + row) * width, share.count,
                  logits_.begin() + row * vocab_ + share.first);
    }
  }
  return logits_.data();
}

CollectiveVolume& CollectiveVolume::operator+=(const CollectiveVolume& other) {
  all_reduce.calls += other.all_reduce.calls;
  all_reduce.bytes += other.all_reduce.bytes;
  all_gather.calls += other.all_gather.calls;
  all_gather.bytes += other.all_gather.bytes;
  return *this;
}

CollectiveVolume forward_volume(const ModelSpec& model,
                                int ranks,
                                std::int64_t tokens,
                                std::int64_t sampled) {
  if (ranks == 1) return {};
  constexpr std::int64_t kFloat = sizeof(float);
  const std::int64_t sums = 2 * model.layers + 1;
  return {{sums, sums * tokens * model.hidden * kFloat},
          {sampled > 0 ? 1 : 0, sampled * largest_share(model.vocab, ranks) * kFloat}};
}

CollectiveVolume counted_volume(const Communicator* group) {
  if (group == nullptr) return {};
  return {group->count(CollectiveOp::kAllReduce), group->count(CollectiveOp::kAllGather)};
}

}  // namespace servetwin
