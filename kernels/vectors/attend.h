// Online softmax of one query over a paged cache: tile by tile, rescaling what was summed when the maximum
// grows.
#pragma once

#include <cmath>

#include "kernels/vectors/elementwise.h"
#include "kernels/vectors/kernels.h"
#include "kernels/vectors/kv_formats.h"

namespace servetwin {

template <class F, class Elements>
class Attender {
 public:
  explicit Attender(const AttendTask& task)
      : task_(task),
        query_(task.scratch),
        sums_(query_ + (task.head_dim + 7) / 8 * 8),
        scores_(sums_ + (task.value_dim + 7) / 8 * 8) {}

  void run() {
    std::memset(query_, 0, static_cast<std::size_t>(scores_ - query_) * sizeof(float));
    std::memcpy(query_, task_.query, static_cast<std::size_t>(task_.head_dim) * sizeof(float));
    for (std::int64_t tile = task_.first / kKeyTile * kKeyTile; tile < task_.end; tile += kKeyTile) {
      const std::int64_t first = tile < task_.first ? task_.first : tile;
      const std::int64_t end = task_.end < tile + kKeyTile ? task_.end : tile + kKeyTile;
      add_tile(first, end);
    }
    const F total = F::all(total_);
    for_each<F>(sums_, sums_, task_.output, task_.value_dim, [&](F sum, F) { return sum / total; });
  }

 private:
  std::int64_t slot_and_head(std::int64_t position) const {
    const std::int64_t block = task_.table[position / task_.block_size];
    const std::int64_t slot = block * task_.block_size + position % task_.block_size;
    return slot * task_.kv_heads + task_.kv_head;
  }
  const std::byte* element(const std::byte* cache, std::int64_t slot_and_head) const {
    return cache + slot_and_head * task_.head_dim * Elements::kBytes;
  }
  static F decode_some(const std::byte* from, std::int64_t count) {
    std::byte bytes[8 * Elements::kBytes] = {};
    std::memcpy(bytes, from, static_cast<std::size_t>(count * Elements::kBytes));
    return Elements::decode(bytes);
  }

  float score(std::int64_t key) const {
    const std::int64_t at = slot_and_head(key);
    const std::byte* from = element(task_.keys, at);
    F sum = F::all(0.0F);
    std::int64_t i = 0;
    for (; i + 8 <= task_.head_dim; i += 8) {
      sum = sum + F::load(query_ + i) * Elements::decode(from + i * Elements::kBytes);
    }
    if (i < task_.head_dim) {
      sum = sum + F::load(query_ + i) * decode_some(from + i * Elements::kBytes, task_.head_dim - i);
    }
    const float product = sum.sum() * task_.scale;
    return task_.key_scales == nullptr ? product : product * task_.key_scales[at];
  }

  // Scores become weights; returns their maximum before that, or the one so far. Lanes beyond the tile's keys
  // hold 0.
  void add_tile(std::int64_t first, std::int64_t end) {
    const std::int64_t count = end - first;
    float maximum = maximum_;
    for (std::int64_t key = 0; key < count; ++key) scores_[key] = score(first + key);
    if (task_.soft_cap > 0) soft_cap<F>(scores_, task_.soft_cap, count);
    for (std::int64_t key = 0; key < count; ++key) {
      if (scores_[key] > maximum) maximum = scores_[key];
    }
    const F highest = F::all(maximum);
    for_each<F>(scores_, scores_, scores_, count, [&](F x, F) { return exponential(x - highest); });
    const bool is_first = maximum_ == -HUGE_VALF;
    float kept[8];
    exponential(F::all(is_first ? 0.0F : maximum_ - maximum)).store(kept);
    F total = F::all(0.0F);
    std::int64_t key = 0;
    for (; key + 8 <= count; key += 8) total = total + F::load(scores_ + key);
    if (key < count) total = total + load_some<F>(scores_ + key, count - key);
    total_ = total_ * kept[0] + total.sum();
    maximum_ = maximum;
    add_values(first, count, F::all(kept[0]));
  }

  void add_values(std::int64_t first, std::int64_t count, F kept) {
    std::int64_t from = 0;
    for (; from + 64 <= task_.value_dim; from += 64) add_columns<8>(first, count, from, kept);
    for (; from + 8 <= task_.value_dim; from += 8) add_columns<1>(first, count, from, kept);
    if (from == task_.value_dim) return;
    F sum = F::load(sums_ + from) * kept;
    for (std::int64_t key = 0; key < count; ++key) {
      const std::int64_t at = slot_and_head(first + key);
      const std::byte* value = element(task_.values, at) + from * Elements::kBytes;
      sum = sum + weight(key, at) * decode_some(value, task_.value_dim - from);
    }
    sum.store(sums_ + from);
  }

  F weight(std::int64_t key, std::int64_t at) const {
    return F::all(task_.value_scales == nullptr ? scores_[key] : scores_[key] * task_.value_scales[at]);
  }

  template <int vectors>
  void add_columns(std::int64_t first, std::int64_t count, std::int64_t from, F kept) {
    F sums[std::size_t{vectors}];
    for (int i = 0; i < vectors; ++i) sums[i] = F::load(sums_ + from + 8 * i) * kept;
    for (std::int64_t key = 0; key < count; ++key) {
      const std::int64_t at = slot_and_head(first + key);
      const std::byte* value = element(task_.values, at) + from * Elements::kBytes;
      const F factor = weight(key, at);
      for (int i = 0; i < vectors; ++i) {
        sums[i] = sums[i] + factor * Elements::decode(value + 8 * i * Elements::kBytes);
      }
    }
    for (int i = 0; i < vectors; ++i) sums[i].store(sums_ + from + 8 * i);
  }

  const AttendTask& task_;
  float* query_;  // padded with zeros
  float* sums_;
  float* scores_;
  float maximum_ = -HUGE_VALF;
  float total_ = 0;
};

}  // namespace servetwin
