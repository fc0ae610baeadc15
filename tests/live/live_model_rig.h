// Runs batches on a model without a core: block tables are laid out by hand, so that a test may cut prompts,
// mix rows and share blocks as it likes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "engine/live/rank_team.h"

namespace servetwin {

// Computes `tokens` more of sequence `sequence`.
struct RigRow {
  int sequence = 0;
  std::int64_t tokens = 0;
  bool sampled = true;
};

struct RigOptions {
  std::int64_t block_size = 16;
  int threads = 1;
  DType kv_dtype = DType::kF32;
  int ranks = 1;
  SplitLayout layout{};
};

class ModelRig {
 public:
  static constexpr std::int64_t kBlocksPerSequence = 16;

  ModelRig(const ModelSpec& spec,
           const ModelWeights& weights,
           std::vector<std::vector<TokenId>> sequences,
           const RigOptions& options)
      : vocab_(spec.vocab),
        block_size_(options.block_size),
        weights_(spec, weights, options.ranks, options.layout),
        team_(spec, weights_.parts(), sizes(options, sequences.size())),
        sequences_(std::move(sequences)),
        computed_(sequences_.size(), 0),
        tables_(sequences_.size()) {
    std::int32_t block = 1;
    for (auto& table : tables_) {
      for (std::int64_t i = 0; i < kBlocksPerSequence; ++i) table.push_back(block++);
    }
    std::reverse(tables_.begin(), tables_.end());  // sequence 0 does not lie where an unpaged one would
  }
  ModelRig(const ModelSpec& spec,
           const ModelWeights& weights,
           std::vector<std::vector<TokenId>> sequences,
           std::int64_t block_size = 16,
           int threads = 1,
           DType kv_dtype = DType::kF32)
      : ModelRig(spec, weights, std::move(sequences), RigOptions{block_size, threads, kv_dtype, 1, {}}) {}

  // `to` begins with `blocks` blocks of `from`, and counts them as computed.
  void share(int from, int to, std::int64_t blocks) {
    for (std::int64_t i = 0; i < blocks; ++i) table(to)[at(i)] = table(from)[at(i)];
    computed_[at(to)] = blocks * block_size_;
  }
  // Its blocks go to the host and come back into other blocks, those it had before being overwritten.
  void swap(int sequence) {
    const std::int64_t blocks = ceil_div(computed(sequence), block_size_);
    std::vector<std::int32_t>& own = table(sequence);
    const BlockCopy out{RequestId{7}, 0, {own.begin(), own.begin() + blocks}};
    std::vector<std::int32_t> turned = own;
    std::rotate(turned.begin(), turned.begin() + 1, turned.end());
    const BlockCopy in{RequestId{7}, 0, {turned.begin(), turned.begin() + blocks}};
    team_.run("swap", [&](RankModel& rank) {
      rank.swap_out({out});
      for (const std::int32_t id : out.ids) rank.copy_block(0, id);
      rank.swap_in(in);
    });
    own = turned;
  }
  std::int64_t flops() const {
    std::int64_t all = 0;
    for (int rank = 0; rank < team_.size(); ++rank) all += team_.at(rank).flops();
    return all;
  }
  RankTeam& team() { return team_; }
  // As after a preemption.
  void forget(int sequence) { computed_[at(sequence)] = 0; }
  std::int64_t computed(int sequence) const { return computed_[at(sequence)]; }
  std::int64_t length(int sequence) const {
    return static_cast<std::int64_t>(sequences_[at(sequence)].size());
  }

  // The logits of each sampled row's last token, in the order of the rows.
  std::vector<std::vector<float>> step(const std::vector<RigRow>& rows) { return steps(rows).front(); }

  // The same as each rank has it.
  std::vector<std::vector<std::vector<float>>> steps(const std::vector<RigRow>& rows) {
    StepBatch batch;
    batch.cu_seqlens.push_back(0);
    std::vector<TokenId> tokens;
    for (const RigRow& row : rows) add(row, batch, tokens);
    const auto sampled =
        std::count_if(rows.begin(), rows.end(), [](const RigRow& row) { return row.sampled; });
    std::vector<std::vector<std::vector<float>>> results(at(team_.size()));
    team_.run("step", [&](RankModel& rank) {
      const float* logits = rank.forward(batch, tokens);
      for (std::int64_t i = 0; i < sampled; ++i, logits += vocab_)
        results[at(rank.rank())].emplace_back(logits, logits + vocab_);
    });
    return results;
  }

 private:
  static RunnerOptions sizes(const RigOptions& options, std::size_t sequences) {
    RunnerOptions sizes;
    sizes.block_size = Tokens{options.block_size};
    sizes.num_blocks = Blocks{1 + kBlocksPerSequence * static_cast<std::int64_t>(sequences)};
    sizes.max_model_len = Tokens{64};
    sizes.threads = options.threads;
    sizes.kv_dtype = options.kv_dtype;
    sizes.layout = options.layout;
    sizes.host_blocks = Blocks{kBlocksPerSequence};
    return sizes;
  }
  template <class Integer>
  static std::size_t at(Integer i) {
    return static_cast<std::size_t>(i);
  }
  std::vector<std::int32_t>& table(int sequence) { return tables_[at(sequence)]; }

  void add(const RigRow& row, StepBatch& batch, std::vector<TokenId>& tokens) {
    const std::int64_t first = computed_[at(row.sequence)];
    const std::int64_t end = first + row.tokens;
    batch.rows.push_back({RequestId{static_cast<std::uint32_t>(row.sequence)}, Tokens{row.tokens},
                          Tokens{first}, row.sampled});
    batch.table_starts.push_back(static_cast<std::int64_t>(batch.groups.front().block_tables.size()));
    const auto& blocks = table(row.sequence);
    batch.groups.front().block_tables.insert(batch.groups.front().block_tables.end(), blocks.begin(),
                                             blocks.end());
    batch.cu_seqlens.push_back(batch.cu_seqlens.back() + static_cast<std::int32_t>(row.tokens));
    batch.seq_lens.push_back(static_cast<std::int32_t>(end));
    for (std::int64_t p = first; p < end; ++p) {
      tokens.push_back(sequences_[at(row.sequence)][at(p)]);
      batch.groups.front().slots.push_back(blocks[at(p / block_size_)] * block_size_ + p % block_size_);
    }
    computed_[at(row.sequence)] = end;
  }

  std::int64_t vocab_;
  std::int64_t block_size_;
  SplitWeights weights_;
  RankTeam team_;
  std::vector<std::vector<TokenId>> sequences_;
  std::vector<std::int64_t> computed_;
  std::vector<std::vector<std::int32_t>> tables_;
};

}  // namespace servetwin
