// The two products of attention over tiles in shared memory, of 16 rows a warp: on tensor cores for f16 and
// bf16, and by plain sums, which f32 takes.
#pragma once

#include <mma.h>

#include "kernels/cuda/floats.cuh"

namespace servetwin {

inline constexpr int kTileRows = 16;
inline constexpr int kTileKeys = 32;

// Each row of a tile is `width` elements, a multiple of 16.
template <class T>
struct TileProducts {
  // scores[16][kTileKeys] = queries[16][width] · keys[kTileKeys][width]ᵀ; lane l may read column l.
  __device__ static void score(const T* queries, const T* keys, int width, float* scores) {
    namespace wmma = nvcuda::wmma;
    for (int first = 0; first < kTileKeys; first += 16) {
      wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums;
      wmma::fill_fragment(sums, 0.0F);
      for (int i = 0; i < width; i += 16) {
        wmma::fragment<wmma::matrix_a, 16, 16, 16, T, wmma::row_major> left;
        wmma::fragment<wmma::matrix_b, 16, 16, 16, T, wmma::col_major> right;
        wmma::load_matrix_sync(left, queries + i, static_cast<unsigned>(width));
        wmma::load_matrix_sync(right, keys + first * width + i, static_cast<unsigned>(width));
        wmma::mma_sync(sums, left, right, sums);
      }
      wmma::store_matrix_sync(scores + first, sums, unsigned{kTileKeys}, wmma::mem_row_major);
    }
    __syncwarp();  // a lane reads what others stored
  }

  // sums[16][width] += weights[16][kTileKeys] · values[kTileKeys][width].
  __device__ static void add(const T* weights, const T* values, int width, float* sums) {
    namespace wmma = nvcuda::wmma;
    for (int i = 0; i < width; i += 16) {
      wmma::fragment<wmma::accumulator, 16, 16, 16, float> tile;
      wmma::load_matrix_sync(tile, sums + i, static_cast<unsigned>(width), wmma::mem_row_major);
      for (int first = 0; first < kTileKeys; first += 16) {
        wmma::fragment<wmma::matrix_a, 16, 16, 16, T, wmma::row_major> left;
        wmma::fragment<wmma::matrix_b, 16, 16, 16, T, wmma::row_major> right;
        wmma::load_matrix_sync(left, weights + first, unsigned{kTileKeys});
        wmma::load_matrix_sync(right, values + first * width + i, static_cast<unsigned>(width));
        wmma::mma_sync(tile, left, right, tile);
      }
      wmma::store_matrix_sync(sums + i, tile, static_cast<unsigned>(width), wmma::mem_row_major);
    }
  }
};

// A lane a key, whose scores it alone reads, then a lane an element.
template <>
struct TileProducts<float> {
  __device__ static void score(const float* queries, const float* keys, int width, float* scores) {
    const float* const key = keys + lane_of_warp() * width;
    for (int row = 0; row < kTileRows; ++row) {
      float sum = 0.0F;
      for (int i = 0; i < width; ++i) sum += queries[row * width + i] * key[i];
      scores[row * kTileKeys + lane_of_warp()] = sum;
    }
  }

  __device__ static void add(const float* weights, const float* values, int width, float* sums) {
    for (int row = 0; row < kTileRows; ++row) {
      for (int i = lane_of_warp(); i < width; i += kWarpSize) {
        float sum = sums[row * width + i];
        for (int key = 0; key < kTileKeys; ++key)
          sum += weights[row * kTileKeys + key] * values[key * width + i];
        sums[row * width + i] = sum;
      }
    }
  }
};

}  // namespace servetwin
