// Reduction, scan, transposition, histogram, products, compaction and others, as textbooks have them.
#include <mma.h>

#include "kernels/cuda/floats.cuh"
#include "kernels/cuda/reduce.cuh"
#include "tests/emulator/textbook/textbook.h"

namespace servetwin::textbook {
namespace {

constexpr int kTile = 16;

__global__ void reduce_block(const float* from, int size, float* total) {
  __shared__ float sums[8];
  float sum = 0.0F;
  for (int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); i < size;
       i += static_cast<int>(gridDim.x * blockDim.x)) {
    sum += from[i];
  }
  for (unsigned delta = 16; delta > 0; delta /= 2) sum += __shfl_down_sync(kAllLanes, sum, delta);
  if (lane_of_warp() == 0) sums[warp_of_block()] = sum;
  __syncthreads();
  if (threadIdx.x >= 8) return;
  sum = sums[threadIdx.x];
  for (unsigned delta = 4; delta > 0; delta /= 2) sum += __shfl_down_sync(0xFFU, sum, delta, 8);
  if (threadIdx.x == 0) atomicAdd(total, sum);
}

__global__ void scan_block(const int* from, int size, int* to) {
  __shared__ int sums[32];
  const int i = thread_of_block();
  int sum = i < size ? from[i] : 0;
  for (unsigned delta = 1; delta < 32; delta *= 2) {
    const int before = __shfl_up_sync(kAllLanes, sum, delta);
    if (lane_of_warp() >= static_cast<int>(delta)) sum += before;
  }
  if (lane_of_warp() == 31) sums[warp_of_block()] = sum;
  __syncthreads();
  for (int warp = 0; warp < warp_of_block(); ++warp) sum += sums[warp];
  if (i < size) to[i] = sum;
}

__global__ void transpose_tile(const float* from, int rows, int columns, float* to) {
  __shared__ float tile[kTile][kTile + 1];
  const int x = static_cast<int>(threadIdx.x);
  const int y = static_cast<int>(threadIdx.y);
  const int column = static_cast<int>(blockIdx.x) * kTile;
  const int row = static_cast<int>(blockIdx.y) * kTile;
  if (row + y < rows && column + x < columns) tile[y][x] = from[(row + y) * columns + column + x];
  __syncthreads();
  if (column + y < columns && row + x < rows) to[(column + y) * rows + row + x] = tile[x][y];
}

__global__ void histogram_block(const int* from, int size, unsigned* counts) {
  __shared__ unsigned own[64];
  const int i = thread_of_block();
  if (i < 64) own[i] = 0;
  __syncthreads();
  const int at = static_cast<int>(blockIdx.x) * threads_of_block() + i;
  if (at < size) atomicAdd(&own[from[at]], 1);
  __syncthreads();
  if (i < 64 && own[i] > 0) atomicAdd(&counts[i], own[i]);
}

__global__ void multiply_tile(const float* a, const float* b, int m, int n, int k, float* c) {
  __shared__ float own_a[kTile][kTile];
  __shared__ float own_b[kTile][kTile];
  const int x = static_cast<int>(threadIdx.x);
  const int y = static_cast<int>(threadIdx.y);
  const int row = static_cast<int>(blockIdx.y) * kTile + y;
  const int column = static_cast<int>(blockIdx.x) * kTile + x;
  float sum = 0.0F;
  for (int start = 0; start < k; start += kTile) {
    own_a[y][x] = row < m && start + x < k ? a[row * k + start + x] : 0.0F;
    own_b[y][x] = start + y < k && column < n ? b[(start + y) * n + column] : 0.0F;
    __syncthreads();
    for (int i = 0; i < kTile; ++i) sum += own_a[y][i] * own_b[i][x];
    __syncthreads();
  }
  if (row < m && column < n) c[row * n + column] = sum;
}

__global__ void multiply_fragment(const __half* a, const __half* b, int n, int k, float* c) {
  namespace wmma = nvcuda::wmma;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  wmma::fill_fragment(sum, 0.0F);
  const int row = static_cast<int>(blockIdx.y) * 16;
  const int column = static_cast<int>(blockIdx.x) * 16;
  for (int start = 0; start < k; start += 16) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> right;
    wmma::load_matrix_sync(left, a + row * k + start, static_cast<unsigned>(k));
    wmma::load_matrix_sync(right, b + start * n + column, static_cast<unsigned>(n));
    wmma::mma_sync(sum, left, right, sum);
  }
  wmma::store_matrix_sync(c + row * n + column, sum, static_cast<unsigned>(n), wmma::mem_row_major);
}

__global__ void compact_block(const int* from, int size, int* to, int* count) {
  __shared__ int starts[33];
  const int i = thread_of_block();
  const bool keeps = i < size && from[i] > 0;
  const unsigned ballot = __ballot_sync(kAllLanes, keeps ? 1 : 0);
  if (lane_of_warp() == 0) starts[warp_of_block() + 1] = __popc(ballot);
  __syncthreads();
  if (i == 0) {
    starts[0] = 0;
    for (int warp = 0; warp < warps_of_block(); ++warp) starts[warp + 1] += starts[warp];
    *count = starts[warps_of_block()];
  }
  __syncthreads();
  const unsigned before = ballot & ((1U << lane_of_warp()) - 1U);
  if (keeps) to[starts[warp_of_block()] + __popc(before)] = from[i];
}

__global__ void reverse_block(const int* from, int size, int* to) {
  int* const numbers = SharedLayout(dynamic_shared()).take<int>(size);
  const int i = thread_of_block();
  if (i < size) numbers[i] = from[i];
  __syncthreads();
  if (i < size) to[i] = numbers[size - 1 - i];
}

__global__ void add_scaled_stride(float a, const float* from, int size, float* to) {
  for (int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); i < size;
       i += static_cast<int>(gridDim.x * blockDim.x)) {
    to[i] += a * from[i];
  }
}

__global__ void count_record(const int* from, int size, unsigned* count, int* largest) {
  const int i = static_cast<int>(blockIdx.x) * threads_of_block() + thread_of_block();
  const int own = i < size ? from[i] : -1;
  int before = -1;
  for (int lane = 0; lane < 31; ++lane) {
    const int other = __shfl_sync(kAllLanes, own, lane);
    if (lane < lane_of_warp()) before = max(before, other);
  }
  if (own > before) atomicAdd(count, 1);
  if (__any_sync(kAllLanes, own > before ? 1 : 0) != 0) atomicMax(largest, own);
}

}  // namespace

void reduce(const float* from, int size, float* total) {
  emulated_launch(reduce_block, {5}, {256}, 0, from, size, total);
}

void scan(const int* from, int size, int* to) {
  const auto threads = static_cast<unsigned>((size + 31) / 32 * 32);
  emulated_launch(scan_block, {1}, {threads}, 0, from, size, to);
}

void transpose(const float* from, int rows, int columns, float* to) {
  emulated_launch(transpose_tile, grid_of(ceil_div(columns, kTile), ceil_div(rows, kTile)), {kTile, kTile}, 0,
                  from, rows, columns, to);
}

void histogram(const int* from, int size, unsigned* counts) {
  emulated_launch(histogram_block, grid_of(ceil_div(size, 128)), {128}, 0, from, size, counts);
}

void multiply_tiles(const float* a, const float* b, int m, int n, int k, float* c) {
  emulated_launch(multiply_tile, grid_of(ceil_div(n, kTile), ceil_div(m, kTile)), {kTile, kTile}, 0, a, b, m,
                  n, k, c);
}

void multiply_fragments(const std::uint16_t* a, const std::uint16_t* b, int m, int n, int k, float* c) {
  emulated_launch(multiply_fragment, grid_of(n / 16, m / 16), {32}, 0, reinterpret_cast<const __half*>(a),
                  reinterpret_cast<const __half*>(b), n, k, c);
}

void compact(const int* from, int size, int* to, int* count) {
  const auto threads = static_cast<unsigned>((size + 31) / 32 * 32);
  emulated_launch(compact_block, {1}, {threads}, 0, from, size, to, count);
}

void reverse(const int* from, int size, int* to) {
  const auto threads = static_cast<unsigned>((size + 31) / 32 * 32);
  emulated_launch(reverse_block, {1}, {threads}, static_cast<std::size_t>(size) * sizeof(int), from, size,
                  to);
}

void add_scaled(float a, const float* from, int size, float* to) {
  emulated_launch(add_scaled_stride, {3}, {64}, 0, a, from, size, to);
}

void count_records(const int* from, int size, unsigned* count, int* largest) {
  emulated_launch(count_record, grid_of(ceil_div(size, 64)), {64}, 0, from, size, count, largest);
}

}  // namespace servetwin::textbook
