// One sequence is computed whole; rows of steps are continuations of copies of it.
#include "calibrate/measure/model_timer.h"

#include <algorithm>
#include <chrono>
#include <sys/resource.h>
#include <thread>
#include <utility>

#include "engine/base/check.h"

namespace servetwin {
namespace {

constexpr auto kPause = std::chrono::microseconds(60);  // about what a live worker waits between two steps

RunnerOptions with_room(RunnerOptions options, const StepSpace& space) {
  const std::int64_t longest = ceil_div(space.context, options.block_size.value);
  options.num_blocks = Blocks{1 + longest + space.blocks};
  options.host_blocks = Blocks{};
  options.kv_cache = true;
  return options;
}

// By the system, which gave a core of this process to somebody else.
std::int64_t times_interrupted() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nivcsw;
}

RequestId request_of(std::size_t row) { return RequestId{static_cast<std::uint32_t>(row)}; }

}  // namespace

ModelTimer::ModelTimer(const ModelSpec& spec,
                       const ModelWeights& weights,
                       RunnerOptions options,
                       const StepSpace& space)
    : space_(space),
      block_size_(options.block_size.value),
      text_(1, spec.vocab),
      runner_(spec, weights, with_room(std::move(options), space), text_, {}) {
  CHECK_INVARIANT(space.block_size == block_size_, space.block_size, block_size_);
  std::vector<TokenId> prompt;
  for (std::int64_t t = 0; t < space.context; ++t)
    prompt.push_back(static_cast<TokenId>((t * 7919 + 13) % spec.vocab));
  const std::int64_t longest = ceil_div(space.context, block_size_);
  for (std::int64_t i = 0; i < longest; ++i) first_blocks_.push_back(static_cast<std::int32_t>(1 + i));
  holds_.assign(static_cast<std::size_t>(space.blocks), -1);
  runner_.take_place();
  for (std::size_t row = 0; row < static_cast<std::size_t>(space.sequences); ++row) {
    SequenceStart start;
    start.request = request_of(row);
    start.prompt = prompt;
    start.sampling.ignore_eos = true;
    runner_.start(std::move(start));
  }
  fill_first();
}

// In chunks that a step may have.
void ModelTimer::fill_first() {
  const std::int64_t chunk = std::min<std::int64_t>(space_.tokens, 256);
  tables_ = {first_blocks_};
  for (std::int64_t done = 0; done < space_.context; done += chunk) {
    StepBatch batch;
    add_row(batch, 0, {done, std::min(chunk, space_.context - done), false, false});
    runner_.run(batch);
  }
}

// Rows take blocks in turn, so that a step's are not always the same.
std::vector<std::int32_t> ModelTimer::take_blocks(std::int64_t tokens) {
  std::vector<std::int32_t> blocks;
  const auto behind = static_cast<std::int32_t>(1 + first_blocks_.size());
  for (std::int64_t i = 0; i < ceil_div(tokens, block_size_); ++i) {
    const std::int32_t block = behind + next_block_;
    std::int64_t& held = holds_[static_cast<std::size_t>(next_block_)];
    if (held != i) runner_.copy_block(first_blocks_[static_cast<std::size_t>(i)], block);
    held = i;
    blocks.push_back(block);
    next_block_ = static_cast<std::int32_t>((next_block_ + 1) % static_cast<std::int32_t>(space_.blocks));
  }
  return blocks;
}

void ModelTimer::add_row(StepBatch& batch, std::size_t index, const PlannedRow& row) const {
  const std::vector<std::int32_t>& table = tables_[index];
  if (batch.cu_seqlens.empty()) batch.cu_seqlens.push_back(0);
  batch.rows.push_back({request_of(index), Tokens{row.tokens}, Tokens{row.context}, row.sampled});
  batch.table_starts.push_back(static_cast<std::int64_t>(batch.groups.front().block_tables.size()));
  batch.groups.front().block_tables.insert(batch.groups.front().block_tables.end(), table.begin(),
                                           table.end());
  batch.cu_seqlens.push_back(batch.cu_seqlens.back() + static_cast<std::int32_t>(row.tokens));
  batch.seq_lens.push_back(static_cast<std::int32_t>(row.context + row.tokens));
  for (std::int64_t p = row.context; p < row.context + row.tokens; ++p) {
    const auto entry = static_cast<std::size_t>(p / block_size_);
    batch.groups.front().slots.push_back(table[entry] * block_size_ + p % block_size_);
  }
}

// A runner checks the tokens of a context that it has not just written, which a live one seldom has to. That
// takes time only where the row is short; such a row's last token is run before it.
void ModelTimer::prepare(const PlannedStep& step) {
  constexpr std::int64_t kShort = 16;
  tables_.clear();
  batch_ = {};
  lead_in_ = {};
  for (std::size_t i = 0; i < step.rows.size(); ++i) {
    const PlannedRow& row = step.rows[i];
    tables_.push_back(take_blocks(row.context + row.tokens));
    add_row(batch_, i, row);
    if (row.context > 0 && row.tokens < kShort) add_row(lead_in_, i, {row.context - 1, 1, false, row.decode});
  }
}

TimedRun ModelTimer::run() {
  if (!lead_in_.rows.empty()) runner_.run(lead_in_);
  std::this_thread::sleep_for(kPause);
  const std::int64_t before = times_interrupted();
  const auto start = std::chrono::steady_clock::now();
  runner_.run(batch_);
  const auto taken = std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now() - start);
  const bool disturbed = times_interrupted() != before;
  for (const StepRow& row : batch_.rows) runner_.truncate(row.request, 0);
  return {taken, disturbed};
}

Duration ModelTimer::now() {
  return std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch());
}

}  // namespace servetwin
