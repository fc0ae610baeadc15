// A few blocks of threads a copy, by words of 16 bytes where addresses allow.
#include "kernels/blocks/copy_blocks_cuda.h"
#include "kernels/cuda/floats.cuh"

namespace servetwin {
namespace {

constexpr int kCopyThreads = 256;
constexpr std::int64_t kMostParts = 16;  // blocks of threads a copy

template <int size>
__global__ void __launch_bounds__(kCopyThreads)
    copy_block(std::uint32_t* blocks, std::int64_t words, const std::int32_t* pairs) {
  const std::uint32_t* const from = blocks + pairs[2 * block_y()] * words;
  std::uint32_t* const to = blocks + pairs[2 * block_y() + 1] * words;
  const std::int64_t step = blocks_x() * threads_of_block() * size;
  for (std::int64_t i = (block_x() * threads_of_block() + thread_of_block()) * size; i < words; i += step) {
    store_pack<size>(to + i, load_pack<size>(from + i));
  }
}

}  // namespace

void copy_blocks_cuda(const BlockCopies& copies, CudaStream stream) {
  if (copies.copies == 0) return;
  CHECK_INVARIANT(copies.block_bytes % 4 == 0, copies.block_bytes);
  const std::int64_t words = copies.block_bytes / 4;
  const bool packs = fits_packs<std::uint32_t>(words, copies.blocks);
  const std::int64_t parts = ceil_div(words / (packs ? 4 : 1), kCopyThreads);
  const Launch how{grid_of(min(kMostParts, parts), copies.copies), kCopyThreads, 0, stream};
  launch("copy_blocks", how, packs ? copy_block<4> : copy_block<1>,
         static_cast<std::uint32_t*>(copies.blocks), words, copies.pairs);
}

}  // namespace servetwin
