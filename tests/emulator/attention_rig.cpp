// The cache is filled by the CPU twin's own store and copied to the device.
#include "tests/emulator/attention_rig.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/base/dequantise.h"
#include "engine/base/units.h"
#include "kernels/attention/paged_attention.h"
#include "tests/support/catch.h"

namespace servetwin::emulator {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::size_t sized(std::int64_t n) { return static_cast<std::size_t>(n); }
std::size_t bytes_of_element(DType dtype) { return sized(layout_of(dtype).block_bytes); }

}  // namespace

// Bytes of the device, copied from the host.
struct CachedArray {
  CachedArray(const std::vector<std::byte>& bytes, DType dtype)
      : memory(bytes.size(), bytes_of_element(dtype), "the cache") {
    std::copy(bytes.begin(), bytes.end(), static_cast<std::byte*>(memory.data()));
    memory.set_written();
  }
  WatchedBytes memory;
};

AttentionCase::AttentionCase(AttentionShape shape, std::uint64_t name) : shape_(std::move(shape)) {
  shape_.options.heads = shape_.kv_heads * shape_.group;
  std::int64_t blocks = 1;  // block 0 is nobody's
  for (std::size_t row = 0; row < shape_.keys.size(); ++row) {
    cu_seqlens_.push_back(cu_seqlens_.back() + shape_.queries[row]);
    max_blocks_ = std::max(max_blocks_, ceil_div(shape_.keys[row], shape_.block_size));
    blocks += ceil_div(shape_.keys[row], shape_.block_size);
  }
  const std::int64_t vectors = blocks * shape_.block_size * shape_.kv_heads;
  keys_.assign(sized(vectors * shape_.head_dim) * bytes_of_element(shape_.cached), std::byte{0xFF});
  values_ = keys_;
  key_scales_.assign(sized(vectors), kNan);
  value_scales_ = key_scales_;
  const PagedCache cache{keys_.data(),    values_.data(), shape_.block_size,  shape_.kv_heads,
                         shape_.head_dim, shape_.cached,  key_scales_.data(), value_scales_.data()};
  auto block = static_cast<std::int32_t>(blocks);
  for (const std::int32_t count : shape_.keys) {
    const std::size_t start = table_.size();
    table_.resize(start + sized(max_blocks_), -1);
    std::vector<std::int64_t> slots;
    for (std::int64_t key = 0; key < count; ++key) {
      if (key % shape_.block_size == 0) table_[start + sized(key / shape_.block_size)] = --block;
      slots.push_back(block * shape_.block_size + key % shape_.block_size);
    }
    const std::int64_t size = count * shape_.kv_heads * shape_.head_dim;
    std::vector<float> keys = noise(name * 64 + start, size);
    for (float& number : keys) number *= shape_.magnitude;
    const std::vector<float> values = noise(name * 64 + start + 17, size);
    store_keys_values(cache, keys.data(), values.data(), slots.data(), count);
  }
  queries_ = noise(name * 64 + 63, cu_seqlens_.back() * shape_.options.heads * shape_.head_dim);
  for (float& number : queries_) number *= shape_.magnitude;
  queries_ = rounded(shape_.dtype, queries_);
  exact_ = twin();
  plain_ = plain();
}

// What both kinds of attention are given.
struct AttentionCase::OnDevice {
  explicit OnDevice(const AttentionCase& own)
      : keys(own.keys_, own.shape_.cached),
        values(own.values_, own.shape_.cached),
        key_scales(own.key_scales_),
        value_scales(own.value_scales_),
        cu_seqlens(own.cu_seqlens_),
        seq_lens(own.shape_.keys),
        table(own.table_),
        queries(own.shape_.dtype, own.queries_),
        output(own.shape_.dtype, own.outputs()),
        rows(own.rows_on_device()) {
    const AttentionShape& shape = own.shape_;
    void* const values_there = shape.is_latent ? keys.memory.data() : values.memory.data();
    cache = {keys.memory.data(), values_there, shape.block_size,  shape.kv_heads,
             shape.head_dim,     shape.cached, key_scales.data(), value_scales.data()};
    rows.cu_seqlens = cu_seqlens.data();
    rows.seq_lens = seq_lens.data();
    rows.block_table = table.data();
    tokens = {shape.dtype, queries.data(), output.data()};
  }

  CachedArray keys;
  CachedArray values;
  Buffer<float> key_scales;
  Buffer<float> value_scales;
  Buffer<std::int32_t> cu_seqlens;
  Buffer<std::int32_t> seq_lens;
  Buffer<std::int32_t> table;
  FloatArray queries;
  FloatArray output;
  PagedCache cache;
  PagedRows rows;
  AttentionTokens tokens;
};

std::vector<float> AttentionCase::decode(DecodeFunction& function) const {
  const OnDevice there(*this);
  const Buffer<float> scratch(paged_decode_scratch(there.rows, shape_.options, shape_.head_dim));
  function(there.cache, there.rows, shape_.options, there.tokens, scratch.data(), {});
  return there.output.values();
}

std::vector<float> AttentionCase::prefill(PrefillFunction& function) const {
  const OnDevice there(*this);
  function(there.cache, there.rows, shape_.options, there.tokens, {});
  return there.output.values();
}

std::int64_t AttentionCase::value_dim() const {
  return shape_.options.value_dim > 0 ? shape_.options.value_dim : shape_.head_dim;
}

std::size_t AttentionCase::outputs() const {
  return sized(cu_seqlens_.back() * shape_.options.heads * value_dim());
}

PagedRows AttentionCase::rows_on_device() const {
  PagedRows rows;
  rows.rows = static_cast<std::int64_t>(shape_.keys.size());
  rows.max_blocks = max_blocks_;
  for (std::size_t row = 0; row < shape_.keys.size(); ++row) {
    rows.max_queries = std::max<std::int64_t>(rows.max_queries, shape_.queries[row]);
    rows.max_keys = std::max<std::int64_t>(rows.max_keys, shape_.keys[row]);
  }
  return rows;
}

std::vector<float> AttentionCase::twin() const {
  auto* const keys = const_cast<std::byte*>(keys_.data());
  auto* const values = const_cast<std::byte*>(values_.data());
  const bool scaled = has_scales(shape_.cached);
  const PagedCache cache{keys,
                         shape_.is_latent ? keys : values,
                         shape_.block_size,
                         shape_.kv_heads,
                         shape_.head_dim,
                         shape_.cached,
                         scaled ? const_cast<float*>(key_scales_.data()) : nullptr,
                         scaled ? const_cast<float*>(value_scales_.data()) : nullptr};
  std::vector<std::int64_t> starts;
  for (std::size_t row = 0; row < shape_.keys.size(); ++row) {
    starts.push_back(static_cast<std::int64_t>(row) * max_blocks_);
  }
  const RaggedRows rows{static_cast<std::int64_t>(shape_.keys.size()), cu_seqlens_.data(), shape_.keys.data(),
                        table_.data(), starts.data()};
  std::vector<float> output(outputs());
  ThreadTeam team(1);
  paged_attention(cache, rows, shape_.options, queries_.data(), output.data(), team);
  const std::int64_t width = shape_.options.heads * value_dim();
  for (std::size_t row = 0; row < shape_.keys.size(); ++row) {
    if (shape_.keys[row] > 0) continue;  // the twin has no padded rows
    std::fill(output.begin() + cu_seqlens_[row] * width, output.begin() + cu_seqlens_[row + 1] * width, 0.0F);
  }
  return output;
}

std::vector<float> AttentionCase::cached(bool is_value, std::int64_t vector) const {
  std::vector<float> numbers;
  for (std::int64_t i = 0; i < shape_.head_dim; ++i) {
    const std::vector<std::byte>& bytes = is_value ? values_ : keys_;
    numbers.push_back(cached_number(shape_.cached, bytes.data(), sized(vector * shape_.head_dim + i)));
    if (has_scales(shape_.cached)) numbers.back() *= (is_value ? value_scales_ : key_scales_)[sized(vector)];
  }
  return numbers;
}

void AttentionCase::plain_head(std::size_t row,
                               std::int64_t token,
                               std::int64_t head,
                               std::vector<float>& output) const {
  const AttentionOptions& options = shape_.options;
  const std::int64_t end = shape_.keys[row] - (cu_seqlens_[row + 1] - 1 - token);
  const std::int64_t first = options.window > 0 ? std::max<std::int64_t>(0, end - options.window) : 0;
  const float scale =
      options.scale > 0 ? options.scale : 1.0F / std::sqrt(static_cast<float>(shape_.head_dim));
  const std::size_t start = sized((token * options.heads + head) * shape_.head_dim);
  std::vector<float> weights;
  std::vector<std::vector<float>> values;
  for (std::int64_t key = first; key < end; ++key) {
    const std::int64_t block = table_[row * sized(max_blocks_) + sized(key / shape_.block_size)];
    const std::int64_t slot = block * shape_.block_size + key % shape_.block_size;
    const std::int64_t vector = slot * shape_.kv_heads + head / shape_.group;
    const std::vector<float> numbers = cached(false, vector);
    float score = 0.0F;
    for (std::size_t i = 0; i < numbers.size(); ++i) score += queries_[start + i] * numbers[i];
    score *= scale;
    weights.push_back(options.soft_cap > 0 ? options.soft_cap * std::tanh(score / options.soft_cap) : score);
    values.push_back(cached(!shape_.is_latent, vector));
  }
  if (weights.empty()) return;
  const std::size_t to = sized((token * options.heads + head) * value_dim());
  weights = rounded(shape_.dtype, weights);
  const float highest = *std::max_element(weights.begin(), weights.end());
  float total = 0.0F;
  for (float& weight : weights) total += weight = std::exp(weight - highest);
  for (float& weight : weights) weight /= total;
  weights = rounded(shape_.dtype, weights);
  for (std::size_t key = 0; key < weights.size(); ++key) {
    for (std::size_t i = 0; i < sized(value_dim()); ++i) output[to + i] += weights[key] * values[key][i];
  }
}

std::vector<float> AttentionCase::plain() const {
  std::vector<float> output(outputs(), 0.0F);
  for (std::size_t row = 0; row < shape_.keys.size(); ++row) {
    for (std::int64_t token = cu_seqlens_[row]; token < cu_seqlens_[row + 1]; ++token) {
      for (std::int64_t head = 0; head < shape_.options.heads; ++head) plain_head(row, token, head, output);
    }
  }
  return rounded(shape_.dtype, output);
}

bool AttentionCase::matches(const std::vector<float>& output) const {
  return is_close(output, exact_, plain_);
}
bool AttentionCase::decode_matches(DecodeFunction& function) const { return matches(decode(function)); }

bool AttentionCase::prefill_matches(PrefillFunction& function) const { return matches(prefill(function)); }

AttentionShape some_shape(std::uint64_t name, bool decodes) {
  std::uint32_t draws = 0;
  const auto some = [&](std::int64_t low, std::int64_t high) {
    return some_number(name, draws++, low, high);
  };
  AttentionShape shape;
  shape.dtype = kFloatTypes[sized(some(0, 2))];
  const DType caches[] = {shape.dtype, shape.dtype, DType::kI8, DType::kF8E4M3};
  shape.cached = caches[sized(some(0, 3))];
  shape.kv_heads = some(1, 2);
  shape.group = some(1, 6);
  const std::int64_t head_dims[] = {6, 16, 40, 64, 128};
  shape.head_dim = head_dims[sized(some(0, 4))];
  shape.block_size = some(1, 16);
  const std::int64_t rows = some(1, 4);
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto fresh = static_cast<std::int32_t>(decodes ? 1 : some(0, 3) * some(0, 30));
    const auto before = static_cast<std::int32_t>(some(0, 2) * some(0, decodes ? 200 : 40));
    const bool padded = some(0, 4) == 0;
    shape.queries.push_back(padded ? 1 : fresh);
    shape.keys.push_back(padded ? 0 : before + fresh);
  }
  shape.options.window = some(0, 1) * some(1, 60);
  shape.options.soft_cap = some(0, 1) == 0 ? 0.0F : 2.0F;
  shape.options.scale = some(0, 3) == 0 ? 0.7F : 0.0F;
  return shape;
}

}  // namespace servetwin::emulator
