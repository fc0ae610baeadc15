// The canonical record of a step, as words for the digests: what was decided, without physical ids or hashes.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/digest.h"
#include "engine/serving/kv_group.h"
#include "engine/serving/plan.h"
#include "engine/serving/request.h"

namespace servetwin {

// Written down in docs/determinism.md; a change of the encoding changes this number.
inline constexpr std::uint64_t kStepRecordVersion = 1;

enum class RecordTag : std::uint64_t {
  kGrowth = 1,
  kChunk,
  kAdmit,
  kHold,
  kPreempt,
  kEnd,
  kRoute,
  kReset,
  kSwapOut,
  kSwapIn
};

constexpr std::uint64_t record_word(RecordTag tag, std::uint64_t payload) {
  return (static_cast<std::uint64_t>(tag) << 56) ^ payload;
}

constexpr std::uint64_t pair_word(std::int64_t high, std::int64_t low) {
  return (static_cast<std::uint64_t>(high) << 32) ^ static_cast<std::uint64_t>(low);
}

// One entry of the plan; blocks it took follow through record_taken().
inline void record_entry(std::vector<std::uint64_t>& words, RecordTag tag, const PlanEntry& entry) {
  words.push_back(record_word(tag, raw(entry.request)));
  words.push_back(pair_word(entry.tokens.value, entry.context.value));
  words.push_back(pair_word(entry.hit.value, (entry.sampled ? 2 : 0) + (entry.resumed ? 1 : 0)));
}

// Where blocks came from, and forgets it.
inline void record_taken(std::vector<std::uint64_t>& words, KvGroup& kv) {
  for (const TakenExtent& taken : kv.taken()) {
    words.push_back(pair_word(raw(taken.request), taken.life));
    words.push_back(pair_word(taken.top, taken.count));
  }
  kv.clear_taken();
}

// Growth of the decoders since the last entry. Nothing is recorded when nothing was taken.
inline void record_growth(std::vector<std::uint64_t>& words, KvGroup& kv) {
  if (kv.taken().empty()) return;
  words.push_back(record_word(RecordTag::kGrowth, kv.taken().size()));
  record_taken(words, kv);
}

}  // namespace servetwin
