// A batch of attention with its cache, for the CPU twin and for the emulated device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/attention/paged_attention_cuda.h"
#include "tests/emulator/kernel_rig.h"
#include "tests/emulator/mutants.h"

namespace servetwin::emulator {

struct AttentionShape {
  DType dtype = DType::kF32;
  DType cached = DType::kF32;
  std::int64_t kv_heads = 1;
  std::int64_t group = 1;  // query heads a KV head
  std::int64_t head_dim = 16;
  std::int64_t block_size = 4;
  std::vector<std::int32_t> queries{};  // of each row
  std::vector<std::int32_t> keys{};     // of each row; 0: a padded row
  AttentionOptions options{};           // heads are filled in
  float magnitude = 1;                  // of queries and keys
  bool is_latent = false;               // values are the beginnings of keys
};

class AttentionCase {
 public:
  // Numbers drawn by `name`; what no row sees of the cache is NaN.
  AttentionCase(AttentionShape shape, std::uint64_t name);

  // Of the kernel, or of a mutant of it.
  bool decode_matches(DecodeFunction& function = paged_decode_cuda) const;
  bool prefill_matches(PrefillFunction& function = paged_prefill_cuda) const;
  std::vector<float> decode(DecodeFunction& function = paged_decode_cuda) const;
  std::vector<float> prefill(PrefillFunction& function = paged_prefill_cuda) const;

 private:
  struct OnDevice;
  PagedRows rows_on_device() const;
  std::int64_t value_dim() const;
  std::size_t outputs() const;
  bool matches(const std::vector<float>& output) const;
  std::vector<float> twin() const;
  // The plain way: scores, weights and results each rounded to the activations' type.
  std::vector<float> plain() const;
  void plain_head(std::size_t row, std::int64_t token, std::int64_t head, std::vector<float>& output) const;
  std::vector<float> cached(bool is_value, std::int64_t vector) const;

  AttentionShape shape_;
  std::vector<std::int32_t> cu_seqlens_{0};
  std::vector<std::int32_t> table_;
  std::int64_t max_blocks_ = 0;
  std::vector<float> queries_;
  std::vector<std::byte> keys_;
  std::vector<std::byte> values_;
  std::vector<float> key_scales_;
  std::vector<float> value_scales_;
  std::vector<float> exact_;  // twin()
  std::vector<float> plain_;  // plain()
};

// Rows, heads, sizes and options by chance; some rows see nothing, some see a whole number of blocks.
AttentionShape some_shape(std::uint64_t name, bool decodes);

}  // namespace servetwin::emulator
