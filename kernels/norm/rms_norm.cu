// A block a row: one pass for the sum of squares, one for the output, which reads what its own thread just
// wrote.
#include "kernels/cuda/floats.cuh"
#include "kernels/cuda/reduce.cuh"
#include "kernels/norm/rms_norm_cuda.h"

namespace servetwin {
namespace {

constexpr int kNormThreads = 256;

template <class T, int size, bool adds>
__global__ void __launch_bounds__(kNormThreads)
    norm_row(std::int64_t width, float epsilon, const T* input, T* residual, const T* weight, T* output) {
  float* const scratch = SharedLayout(dynamic_shared()).take<float>(kNormThreads / kWarpSize);
  const std::int64_t start = block_x() * width;
  const std::int64_t first = std::int64_t{thread_of_block()} * size;
  const std::int64_t step = std::int64_t{threads_of_block()} * size;
  const T* const row = adds ? residual + start : input + start;
  float squares = 0.0F;
  for (std::int64_t i = first; i < width; i += step) {
    Pack<T, size> values = load_pack<size>(row + i);
    if constexpr (adds) {
      const Pack<T, size> added = load_pack<size>(input + start + i);
      for (int j = 0; j < size; ++j) {
        values.values[j] = from_float<T>(to_float(values.values[j]) + to_float(added.values[j]));
      }
      store_pack<size>(residual + start + i, values);
    }
    for (const T& value : values.values) squares += to_float(value) * to_float(value);
  }
  const float mean = block_sum(squares, scratch) / static_cast<float>(width);
  const float scale = 1.0F / sqrtf(mean + epsilon);
  for (std::int64_t i = first; i < width; i += step) {
    Pack<T, size> values = load_pack<size>(row + i);
    const Pack<T, size> factors = load_pack<size>(weight + i);
    for (int j = 0; j < size; ++j) {
      values.values[j] = from_float<T>(to_float(values.values[j]) * scale * to_float(factors.values[j]));
    }
    store_pack<size>(output + start + i, values);
  }
}

template <bool adds>
void norm_rows(const RmsNormOptions& options,
               DType dtype,
               const void* input,
               void* residual,
               const void* weight,
               void* output,
               CudaStream stream) {
  if (options.rows == 0) return;
  const Launch how{grid_of(options.rows), kNormThreads, kNormThreads / kWarpSize * sizeof(float), stream};
  with_float_type(dtype, [&](auto element) {
    using T = decltype(element);
    constexpr int kPack = 16 / sizeof(T);
    const bool packs = fits_packs<T>(options.width, input, residual, weight, output);
    launch("rms_norm", how, packs ? norm_row<T, kPack, adds> : norm_row<T, 1, adds>, options.width,
           options.epsilon, static_cast<const T*>(input), static_cast<T*>(residual),
           static_cast<const T*>(weight), static_cast<T*>(output));
  });
}

}  // namespace

void rms_norm_cuda(const RmsNormOptions& options,
                   DType dtype,
                   const void* input,
                   const void* weight,
                   void* output,
                   CudaStream stream) {
  norm_rows<false>(options, dtype, input, nullptr, weight, output, stream);
}

void add_rms_norm_cuda(const RmsNormOptions& options,
                       DType dtype,
                       const void* input,
                       void* residual,
                       const void* weight,
                       void* output,
                       CudaStream stream) {
  norm_rows<true>(options, dtype, input, residual, weight, output, stream);
}

}  // namespace servetwin
