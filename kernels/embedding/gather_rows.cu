// A block a row.
#include "kernels/cuda/floats.cuh"
#include "kernels/embedding/gather_rows_cuda.h"

namespace servetwin {
namespace {

constexpr int kGatherThreads = 128;

template <class T, int size>
__global__ void __launch_bounds__(kGatherThreads)
    gather_row(std::int64_t width, const T* table, const std::int32_t* indices, T* output) {
  const std::int64_t index = indices[block_x()];
  T* const to = output + block_x() * width;
  const std::int64_t step = std::int64_t{threads_of_block()} * size;
  for (std::int64_t i = std::int64_t{thread_of_block()} * size; i < width; i += step) {
    Pack<T, size> pack;
    if (index < 0) {
      for (T& value : pack.values) value = from_float<T>(0.0F);
    } else {
      pack = load_pack<size>(table + index * width + i);
    }
    store_pack<size>(to + i, pack);
  }
}

}  // namespace

void gather_rows_cuda(const RowGather& gather, CudaStream stream) {
  if (gather.rows == 0) return;
  const Launch how{grid_of(gather.rows), kGatherThreads, 0, stream};
  with_float_type(gather.dtype, [&](auto element) {
    using T = decltype(element);
    constexpr int kPack = 16 / sizeof(T);
    const bool packs = fits_packs<T>(gather.width, gather.table, gather.output);
    launch("gather_rows", how, packs ? gather_row<T, kPack> : gather_row<T, 1>, gather.width,
           static_cast<const T*>(gather.table), gather.indices, static_cast<T*>(gather.output));
  });
}

}  // namespace servetwin
