// Sizes by the rank's own shapes; the rest is handed on.
#include "engine/live/rank_model.h"

#include <utility>

#include "kernels/thread_place.h"

namespace servetwin {
namespace {

std::vector<int> cpus_of(const RunnerOptions& options, RankPlace place) {
  if (options.cpus.empty()) return {};
  const auto first = options.cpus.begin() + static_cast<std::ptrdiff_t>(place.rank) * options.threads;
  return {first, first + options.threads};
}

}  // namespace

RankModel::RankModel(const ModelSpec& spec,
                     const ModelWeights& part,
                     const RunnerOptions& options,
                     RankPlace place,
                     std::unique_ptr<Communicator> group)
    : place_(place),
      cpus_(cpus_of(options, place)),
      on_step_(options.on_step),
      group_(std::move(group)),
      model_(rank_spec(spec, place, options.layout),
             part,
             options.max_model_len,
             options.threads,
             cpus_,
             group_.get(),
             options.layout),
      cache_(model_.spec(), options.num_blocks, options.block_size, options.kv_dtype, options.kv_layout),
      host_(options.host_blocks) {}

void RankModel::take_place() const {
  name_this_thread("compute");
  if (!cpus_.empty()) keep_this_thread_on({cpus_.front()});
}

const float* RankModel::forward(const StepBatch& batch, const std::vector<TokenId>& tokens) {
  if (on_step_) on_step_(place_.rank, batch.step);
  return model_.forward(batch, tokens, cache_);
}

void RankModel::swap_out(const std::vector<BlockCopy>& copies) {
  for (const BlockCopy& copy : copies) host_.put(copy, cache_);
}

void RankModel::copy_block(std::int32_t from, std::int32_t to) {
  std::vector<std::byte> block(cache_.block_bytes());
  cache_.read_block(from, block.data());
  cache_.write_block(to, block.data());
}

}  // namespace servetwin
