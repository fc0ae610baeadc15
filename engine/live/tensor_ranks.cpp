// Rows of others are zeros before a sum; pieces of logits are laid side by side after a gather.
#include "engine/live/tensor_ranks.h"

#include <algorithm>
#include <span>

#include "kernels/embedding/embedding.h"

namespace servetwin {

TensorRanks::TensorRanks(const ModelSpec& spec, Communicator* group, bool sequence_parallel)
    : hidden_(spec.hidden), vocab_(spec.vocab), group_(group), sequence_parallel_(sequence_parallel) {
  if (group != nullptr) place_ = {group->rank(), group->size()};
  sequence_parallel_ = sequence_parallel_ && !is_alone();
}

void TensorRanks::begin(std::int64_t tokens) {
  tokens_ = tokens;
  own_ = sequence_parallel_ ? token_share(tokens, place_) : RankShare{0, tokens};
}

void TensorRanks::embed(const StoredMatrix& table,
                        const std::vector<TokenId>& tokens,
                        std::vector<float>& output) {
  output.resize(static_cast<std::size_t>(tokens_ * hidden_));
  if (is_alone()) return embedding(table.view(), tokens.data(), tokens_, output.data());
  const RankShare share = vocabulary_share(vocab_, place_);
  float* row = output.data();
  for (const TokenId token : tokens) {
    if (share.has(token)) {
      const auto local = static_cast<std::int32_t>(token - share.first);
      embedding(table.view(), &local, 1, row);
    } else {
      std::fill_n(row, hidden_, 0.0F);
    }
    row += hidden_;
  }
  collect(output);
}

void TensorRanks::spread(std::vector<float>& hidden) {
  if (!sequence_parallel_) return;
  const auto each = static_cast<std::size_t>(largest_share(tokens_, place_.size) * hidden_);
  hidden.resize(each, 0.0F);
  all_.resize(each * static_cast<std::size_t>(place_.size));
  group_->all_gather(std::as_bytes(std::span(hidden)), std::as_writable_bytes(std::span(all_)));
  hidden.assign(all_.begin(), all_.begin() + tokens_ * hidden_);
}

void TensorRanks::collect(std::vector<float>& hidden) {
  if (is_alone()) return;
  if (!sequence_parallel_) return group_->all_reduce(hidden);
  const auto each = static_cast<std::size_t>(largest_share(tokens_, place_.size) * hidden_);
  hidden.resize(each * static_cast<std::size_t>(place_.size), 0.0F);
  piece_.resize(each);
  group_->reduce_scatter(hidden, piece_);
  hidden.assign(piece_.begin(), piece_.begin() + own_.count * hidden_);
}

const float* TensorRanks::gather_logits(const std::vector<float>& mine, std::int64_t rows) {
  if (is_alone() || rows == 0) return mine.data();
  const RankShare own = vocabulary_share(vocab_, place_);
  const std::int64_t width = largest_share(vocab_, place_.size);
  piece_.assign(static_cast<std::size_t>(rows * width), 0.0F);
  for (std::int64_t row = 0; row < rows; ++row)
    std::copy_n(mine.begin() + row * own.count, own.count, piece_.begin() + row * width);
  all_.resize(piece_.size() * static_cast<std::size_t>(place_.size));
  group_->all_gather(std::as_bytes(std::span(piece_)), std::as_writable_bytes(std::span(all_)));
  logits_.resize(static_cast<std::size_t>(rows * vocab_));
  for (int rank = 0; rank < place_.size; ++rank) {
    const RankShare share = vocabulary_share(vocab_, {rank, place_.size});
    for (std::int64_t row = 0; row < rows; ++row) {
      std::copy_n(all_.begin() + (rank * rows + row) * width, share.count,
                  logits_.begin() + row * vocab_ + share.first);
    }
  }
  return logits_.data();
}

}  // namespace servetwin
