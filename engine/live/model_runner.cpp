// Gather inputs, run the model, sample row by row.
#include "engine/live/model_runner.h"

#include <algorithm>
#include <utility>

#include "engine/base/check.h"

namespace servetwin {

ModelRunner::ModelRunner(const ModelSpec& spec,
                         std::span<const ModelWeights> parts,
                         const RunnerOptions& options,
                         ContentText& text,
                         Sink sink)
    : spec_(spec),
      layout_(options.layout),
      kv_cache_(options.kv_cache),
      ranks_(spec, parts, options),
      text_(text),
      sink_(std::move(sink)),
      cached_tokens_(static_cast<std::size_t>(ranks_.at(0).slots()), -1) {
  const int size = ranks_.size();
  for (int rank = 0; rank < size; ++rank)
    formulas_.emplace_back(spec, parts[static_cast<std::size_t>(rank)], RankPlace{rank, size}, layout_);
}

void ModelRunner::start(SequenceStart start) {
  Sequence sequence;
  sequence.tokens = start.prompt;
  const RequestId request = start.request;
  sequence.start = std::move(start);
  const bool is_new = sequences_.emplace(request, std::move(sequence)).second;
  CHECK_INVARIANT(is_new, raw(request));
}

const std::vector<TokenId>& ModelRunner::tokens(RequestId request) const {
  return sequences_.at(request).tokens;
}

void ModelRunner::truncate(RequestId request, std::int64_t outputs) {
  const auto found = sequences_.find(request);
  drop(request);
  if (found == sequences_.end()) return;
  found->second.ended = false;
  std::vector<TokenId>& tokens = found->second.tokens;
  tokens.resize(
      std::min(tokens.size(), found->second.start.prompt.size() + static_cast<std::size_t>(outputs)));
}

void ModelRunner::swap_out(const std::vector<BlockCopy>& copies) {
  if (copies.empty()) return;
  ranks_.run("a swap to the host", [&](RankModel& rank) { rank.swap_out(copies); });
  for (const BlockCopy& copy : copies) on_host_.insert(copy.request);
}

void ModelRunner::drop(RequestId request) {
  if (on_host_.erase(request) == 0) return;
  ranks_.run("forgetting a swapped request", [&](RankModel& rank) { rank.drop(request); });
}

void ModelRunner::copy_block(std::int32_t from, std::int32_t to) {
  ranks_.run("a copy of a block", [&](RankModel& rank) { rank.copy_block(from, to); });
  const std::int64_t size = ranks_.at(0).block_size();
  std::copy_n(cached_tokens_.begin() + from * size, size, cached_tokens_.begin() + to * size);
}

// What its blocks hold now is what it had written before.
void ModelRunner::swap_in(const BlockCopy& blocks) {
  ranks_.run("a swap from the host", [&](RankModel& rank) { rank.swap_in(blocks); });
  on_host_.erase(blocks.request);
  Sequence& sequence = sequences_.at(blocks.request);
  const std::int64_t size = ranks_.at(0).block_size();
  std::int64_t position = blocks.first * size;
  for (const std::int64_t id : blocks.ids) {
    for (std::int64_t slot = id * size; slot < (id + 1) * size && position < sequence.written;
         ++slot, ++position) {
      cached_tokens_[static_cast<std::size_t>(slot)] = sequence.tokens[static_cast<std::size_t>(position)];
    }
  }
  sequence.written = -1;  // the blocks before them may be somebody else's: its next row looks
}

// A prefix hit is believed by the core because hashes are equal; here the tokens themselves are compared.
void ModelRunner::check_reused(const StepBatch& batch, std::size_t row, const Sequence& sequence) const {
  const std::int64_t size = ranks_.at(0).block_size();
  for (const GroupBlocks& group : batch.groups) {
    for (std::int64_t position = 0; position < batch.rows[row].context.value; ++position) {
      const auto entry = static_cast<std::size_t>(batch.table_starts[row] + position / size);
      if (group.block_tables[entry] == 0) continue;
      const std::int64_t slot = group.block_tables[entry] * size + position % size;
      const TokenId cached = cached_tokens_[static_cast<std::size_t>(slot)];
      CHECK_INVARIANT(cached == sequence.tokens[static_cast<std::size_t>(position)],
                      raw(batch.rows[row].request), position, cached);
    }
  }
}

void ModelRunner::gather(const StepBatch& batch) {
  inputs_.clear();
  for (const StepRow& row : batch.rows) {
    Sequence& sequence = sequences_.at(row.request);
    const auto end = static_cast<std::size_t>((row.context + row.tokens).value);
    CHECK_INVARIANT(end <= sequence.tokens.size(), raw(row.request), end, sequence.tokens.size());
    const auto first = sequence.tokens.begin();
    inputs_.insert(inputs_.end(), first + row.context.value, first + static_cast<std::ptrdiff_t>(end));
  }
  for (const GroupBlocks& group : batch.groups) {
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      cached_tokens_[static_cast<std::size_t>(group.slots[i])] = inputs_[i];
  }
}

std::vector<RequestId> ModelRunner::run(const StepBatch& batch) {
  swap_out(batch.swap_outs);
  for (const BlockCopy& copy : batch.swap_ins) swap_in(copy);
  for (const RequestId request : batch.resumed) drop(request);  // the cache had all of it again
  for (const ForwardFlops& formula : formulas_) {
    flops_.with_cache += formula.with_cache(batch.rows);
    flops_.without_cache += formula.without_cache(batch.rows);
  }
  return kv_cache_ ? compute(batch) : compute(recomputed(batch, ranks_.at(0).block_size()));
}

FlopCount ModelRunner::flops() const {
  FlopCount flops = flops_;
  flops.computed = 0;
  for (int rank = 0; rank < ranks_.size(); ++rank) flops.computed += ranks_.at(rank).flops();
  return flops;
}

const float* ModelRunner::forward(const StepBatch& batch) {
  const float* logits = nullptr;
  ranks_.run("step " + std::to_string(raw(batch.step)), [&](RankModel& rank) {
    const float* result = rank.forward(batch, inputs_);
    if (rank.rank() == 0) logits = result;
  });
  const auto sampled =
      std::count_if(batch.rows.begin(), batch.rows.end(), [](const StepRow& row) { return row.sampled; });
  volume_ += forward_volume(spec_, ranks_.size(), layout_, batch.num_tokens(), sampled);
  return logits;
}

CollectiveCheck ModelRunner::collectives() const {
  CollectiveCheck all{{}, volume_};
  for (int rank = 0; rank < ranks_.size(); ++rank) all.counted += ranks_.at(rank).sent();
  return all;
}

std::vector<RequestId> ModelRunner::compute(const StepBatch& batch) {
  gather(batch);
  for (std::size_t row = 0; row < batch.rows.size(); ++row) {
    Sequence& sequence = sequences_.at(batch.rows[row].request);
    if (batch.rows[row].context.value != sequence.written) check_reused(batch, row, sequence);
    sequence.written = batch.seq_lens[row];
  }
  const float* logits = forward(batch);
  std::vector<RequestId> stopped;
  for (const StepRow& row : batch.rows) {
    if (!row.sampled) continue;
    Sequence& sequence = sequences_.at(row.request);
    const auto prompt = static_cast<std::int64_t>(sequence.start.prompt.size());
    const std::int64_t output = static_cast<std::int64_t>(sequence.tokens.size()) - prompt;
    const TextPlace& place = sequence.start.place;
    const SamplingContext context{&sequence.tokens, prompt, place.stream,
                                  static_cast<std::uint32_t>(place.offset + output)};
    if (emit(sequence, sampler_.sample(logits, spec_.vocab, sequence.start.sampling, context))) {
      stopped.push_back(row.request);
    }
    logits += spec_.vocab;
  }
  std::sort(stopped.begin(), stopped.end());
  return stopped;
}

// Whether the request ends with this token.
bool ModelRunner::emit(Sequence& sequence, SampledToken sampled) {
  const TokenId token = sampled.token;
  const auto index = static_cast<std::int64_t>(sequence.tokens.size() - sequence.start.prompt.size());
  sequence.tokens.push_back(token);
  // The row of a step that was planned before the end was known: nobody waits for its token.
  if (sequence.ended) return false;
  const TextPlace& place = sequence.start.place;
  if (place.shared) text_.put_generated(place.stream, place.offset + index, token);
  const OutputToken output{sequence.start.request, index, std::move(sampled)};
  if (sink_) sink_(output);
  const bool told_to_end = sequence.start.listener && sequence.start.listener(output);
  sequence.ended = told_to_end || index + 1 == sequence.start.stop_after ||
                   stops(sequence.start.sampling, token, index + 1);
  return sequence.ended;
}

}  // namespace servetwin
