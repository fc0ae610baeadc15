// A warp a row of the weight: its lanes take chunks of eight weights in turn, decode them once, and multiply
// them with up to four rows of input.
#include "kernels/cuda/reduce.cuh"
#include "kernels/gemm/matvec_cuda.h"
#include "kernels/gemm/weight_chunks.cuh"

namespace servetwin {
namespace {

constexpr int kMatvecThreads = 128;
constexpr int kInputRows = 4;

template <class T>
struct MatvecArguments {
  std::int64_t weight_rows;
  std::int64_t columns;
  std::int64_t row_bytes;
  const unsigned char* weight;
  std::int64_t rows;
  const T* input;
  const T* bias;
  T* output;
};

// The part of a row behind its whole chunks; only rows of plain numbers have one.
template <class Format, class T>
__device__ float rest_of_row(const unsigned char* row,
                             const T* input,
                             std::int64_t first,
                             std::int64_t columns) {
  float sum = 0.0F;
  if constexpr (Format::kElements == kChunk) {
    constexpr int kSize = Format::kBytes / kChunk;
    for (std::int64_t i = first + lane_of_warp(); i < columns; i += kWarpSize) {
      sum += to_float(input[i]) * Format::number(row + i * kSize);
    }
  }
  return sum;
}

template <class Format, class T>
__global__ void __launch_bounds__(kMatvecThreads) multiply_rows(MatvecArguments<T> all) {
  const std::int64_t weight_row = block_x() * warps_of_block() + warp_of_block();
  if (weight_row >= all.weight_rows) return;  // a whole warp
  const unsigned char* const row = all.weight + weight_row * all.row_bytes;
  const std::int64_t first_input = block_y() * kInputRows;
  const auto inputs = static_cast<int>(min(std::int64_t{kInputRows}, all.rows - first_input));
  const T* const input = all.input + first_input * all.columns;
  constexpr int kChunks = Format::kElements / kChunk;
  const std::int64_t chunks = all.columns / kChunk;
  float sums[kInputRows] = {};
  for (std::int64_t chunk = lane_of_warp(); chunk < chunks; chunk += kWarpSize) {
    Chunk weights;
    Format::decode(row + chunk / kChunks * Format::kBytes, static_cast<int>(chunk % kChunks), weights);
    for (int n = 0; n < inputs; ++n) {
      const T* const numbers = input + n * all.columns + chunk * kChunk;
      for (int i = 0; i < kChunk; ++i) sums[n] += weights[i] * to_float(numbers[i]);
    }
  }
  for (int n = 0; n < inputs; ++n) {
    sums[n] += rest_of_row<Format>(row, input + n * all.columns, chunks * kChunk, all.columns);
    const float sum = warp_sum(sums[n]);
    if (lane_of_warp() > 0) continue;
    const float bias = all.bias == nullptr ? 0.0F : to_float(all.bias[weight_row]);
    all.output[(first_input + n) * all.weight_rows + weight_row] = from_float<T>(sum + bias);
  }
}

// Calls function(Format{}).
template <class Function>
void with_weight_format(DType dtype, Function function) {
  switch (dtype) {
    case DType::kF32:
      return function(PlainChunks<float>{});
    case DType::kF16:
      return function(PlainChunks<__half>{});
    case DType::kBF16:
      return function(PlainChunks<__nv_bfloat16>{});
    case DType::kQ4_0:
      return function(Q4Chunks<false>{});
    case DType::kQ4_1:
      return function(Q4Chunks<true>{});
    case DType::kQ8_0:
      return function(Q8Chunks{});
    case DType::kQ4_K:
      return function(Q4KChunks{});
    case DType::kQ6_K:
      return function(Q6KChunks{});
    default:
      CHECK_INVARIANT(false, name_of(dtype));
  }
}

}  // namespace

bool is_matvec_dtype(DType weight) {
  switch (weight) {
    case DType::kF32:
    case DType::kF16:
    case DType::kBF16:
    case DType::kQ4_0:
    case DType::kQ4_1:
    case DType::kQ8_0:
    case DType::kQ4_K:
    case DType::kQ6_K:
      return true;
    default:
      return false;
  }
}

void matvec_cuda(const FewRowsProduct& product, CudaStream stream) {
  const WeightMatrix& weight = product.weight;
  if (product.rows == 0 || weight.rows == 0) return;
  const Launch how{
      grid_of(ceil_div(weight.rows, kMatvecThreads / kWarpSize), ceil_div(product.rows, kInputRows)),
      kMatvecThreads, 0, stream};
  with_float_type(product.dtype, [&](auto element) {
    using T = decltype(element);
    const MatvecArguments<T> all{weight.rows,
                                 weight.columns,
                                 static_cast<std::int64_t>(weight.row_bytes()),
                                 reinterpret_cast<const unsigned char*>(weight.data),
                                 product.rows,
                                 static_cast<const T*>(product.input),
                                 static_cast<const T*>(product.bias),
                                 static_cast<T*>(product.output)};
    with_weight_format(weight.dtype,
                       [&](auto format) { launch("matvec", how, multiply_rows<decltype(format), T>, all); });
  });
}

}  // namespace servetwin
