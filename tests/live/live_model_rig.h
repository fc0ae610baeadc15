// Runs batches on a model without a core: block tables are laid out by hand, so that a test may cut prompts,
// mix rows and share blocks as it likes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "engine/live/host_tier.h"
#include "engine/live/transformer_model.h"

namespace servetwin {

// Computes `tokens` more of sequence `sequence`.
struct RigRow {
  int sequence = 0;
  std::int64_t tokens = 0;
};

class ModelRig {
 public:
  static constexpr std::int64_t kBlocksPerSequence = 16;

  ModelRig(const ModelSpec& spec,
           const ModelWeights& weights,
           std::vector<std::vector<TokenId>> sequences,
           std::int64_t block_size = 16,
           int threads = 1,
           DType kv_dtype = DType::kF32)
      : model_(spec, weights, Tokens{64}, threads),
        cache_(spec,
               Blocks{1 + kBlocksPerSequence * static_cast<std::int64_t>(sequences.size())},
               Tokens{block_size},
               kv_dtype),
        sequences_(std::move(sequences)),
        computed_(sequences_.size(), 0),
        tables_(sequences_.size()) {
    std::int32_t block = 1;
    for (auto& table : tables_) {
      for (std::int64_t i = 0; i < kBlocksPerSequence; ++i) table.push_back(block++);
    }
    std::reverse(tables_.begin(), tables_.end());  // sequence 0 does not lie where an unpaged one would
  }

  // `to` begins with `blocks` blocks of `from`, and counts them as computed.
  void share(int from, int to, std::int64_t blocks) {
    for (std::int64_t i = 0; i < blocks; ++i) table(to)[at(i)] = table(from)[at(i)];
    computed_[at(to)] = blocks * cache_.block_size();
  }
  // Its blocks go to the host and come back into other blocks, those it had before being overwritten.
  void swap(int sequence) {
    const std::int64_t blocks = ceil_div(computed(sequence), cache_.block_size());
    std::vector<std::int32_t>& own = table(sequence);
    const BlockCopy out{RequestId{7}, 0, {own.begin(), own.begin() + blocks}};
    HostTier host{Blocks{blocks}};
    host.put(out, cache_);
    const std::vector<std::byte> other(cache_.block_bytes(), std::byte{0x5a});
    for (const std::int32_t id : out.ids) cache_.write_block(id, other.data());
    std::rotate(own.begin(), own.begin() + 1, own.end());
    host.take({RequestId{7}, 0, {own.begin(), own.begin() + blocks}}, cache_);
  }
  std::int64_t flops() const { return model_.flops(); }
  // As after a preemption.
  void forget(int sequence) { computed_[at(sequence)] = 0; }
  std::int64_t computed(int sequence) const { return computed_[at(sequence)]; }
  std::int64_t length(int sequence) const {
    return static_cast<std::int64_t>(sequences_[at(sequence)].size());
  }

  // Every row is sampled; its logits are those of its last token.
  std::vector<std::vector<float>> step(const std::vector<RigRow>& rows) {
    StepBatch batch;
    batch.cu_seqlens.push_back(0);
    std::vector<TokenId> tokens;
    for (const RigRow& row : rows) add(row, batch, tokens);
    const float* logits = model_.forward(batch, tokens, cache_);
    const std::int64_t vocab = model_.spec().vocab;
    std::vector<std::vector<float>> result;
    for (std::size_t i = 0; i < rows.size(); ++i, logits += vocab)
      result.emplace_back(logits, logits + vocab);
    return result;
  }

 private:
  template <class Integer>
  static std::size_t at(Integer i) {
    return static_cast<std::size_t>(i);
  }
  std::vector<std::int32_t>& table(int sequence) { return tables_[at(sequence)]; }

  void add(const RigRow& row, StepBatch& batch, std::vector<TokenId>& tokens) {
    const std::int64_t first = computed_[at(row.sequence)];
    const std::int64_t end = first + row.tokens;
    batch.rows.push_back(
        {RequestId{static_cast<std::uint32_t>(row.sequence)}, Tokens{row.tokens}, Tokens{first}, true});
    batch.table_starts.push_back(static_cast<std::int64_t>(batch.groups.front().block_tables.size()));
    const auto& blocks = table(row.sequence);
    batch.groups.front().block_tables.insert(batch.groups.front().block_tables.end(), blocks.begin(),
                                             blocks.end());
    batch.cu_seqlens.push_back(batch.cu_seqlens.back() + static_cast<std::int32_t>(row.tokens));
    batch.seq_lens.push_back(static_cast<std::int32_t>(end));
    for (std::int64_t p = first; p < end; ++p) {
      tokens.push_back(sequences_[at(row.sequence)][at(p)]);
      const std::int64_t size = cache_.block_size();
      batch.groups.front().slots.push_back(blocks[at(p / size)] * size + p % size);
    }
    computed_[at(row.sequence)] = end;
  }

  TransformerModel model_;
  KvPool cache_;
  std::vector<std::vector<TokenId>> sequences_;
  std::vector<std::int64_t> computed_;
  std::vector<std::vector<std::int32_t>> tables_;
};

}  // namespace servetwin
