// Counts follow from the layers, bytes from tokens, hidden size and vocabulary.
#include "engine/live/collective_volume.h"

#include "engine/base/text.h"
#include "engine/base/unit_text.h"

namespace servetwin {

CollectiveVolume& CollectiveVolume::operator+=(const CollectiveVolume& other) {
  for (std::size_t op = 0; op < counts.size(); ++op) {
    counts[op].calls += other.counts[op].calls;
    counts[op].bytes += other.counts[op].bytes;
  }
  return *this;
}

CollectiveVolume forward_volume(
    const ModelSpec& model, int ranks, const SplitLayout& layout, std::int64_t tokens, std::int64_t sampled) {
  CollectiveVolume volume;
  if (ranks == 1) return volume;
  constexpr std::int64_t kFloat = sizeof(float);
  const std::int64_t row = model.hidden * kFloat;
  const auto add = [&](CollectiveOp op, std::int64_t calls, std::int64_t bytes) {
    volume[op].calls += ranks * calls;
    volume[op].bytes += ranks * calls * bytes;
  };
  const std::int64_t exchanges = layout.expert_parallel ? model.layers - model.moe.first_dense_layers : 0;
  const std::int64_t sums =
      2 * model.layers + 1 - exchanges;  // after attention, feed-forward part, embedding
  if (layout.sequence_parallel) {
    const std::int64_t piece = largest_share(tokens, ranks) * row;
    add(CollectiveOp::kReduceScatter, sums, ranks * piece);
    add(CollectiveOp::kAllGather, sums, piece);  // before attention, feed-forward part, output head
  } else {
    add(CollectiveOp::kAllReduce, sums, tokens * row);
  }
  if (sampled > 0) add(CollectiveOp::kAllGather, 1, sampled * largest_share(model.vocab, ranks) * kFloat);
  // Counts of pairs; pairs with the expert's number; results. A pair is sent by one rank.
  constexpr std::int64_t kNumber = sizeof(std::int32_t);
  add(CollectiveOp::kAllToAll, 3 * exchanges, 0);
  volume[CollectiveOp::kAllToAll].bytes =
      exchanges * (kNumber * ranks * ranks + tokens * model.moe.top_k * (kNumber + 2 * row));
  return volume;
}

CollectiveVolume counted_volume(const Communicator* group) {
  CollectiveVolume volume;
  if (group == nullptr) return volume;
  for (std::size_t op = 0; op < kNumCollectiveOps; ++op)
    volume.counts[op] = group->count(static_cast<CollectiveOp>(op));
  return volume;
}

std::string to_text(const CollectiveVolume& volume) {
  std::string text;
  for (std::size_t op = 0; op < kNumCollectiveOps; ++op) {
    const CollectiveCount& count = volume.counts[op];
    if (count.calls == 0) continue;
    if (!text.empty()) text += ", ";
    text += format_grouped(count.calls) + ' ' + to_string(static_cast<CollectiveOp>(op)) + "s of " +
            format_bytes(Bytes{count.bytes});
  }
  return text;
}

}  // namespace servetwin
