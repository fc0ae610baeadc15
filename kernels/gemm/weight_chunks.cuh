// Eight stored weights at a time to floats, with the products of dequantise.h. Blocks begin at even
// addresses, so bytes are loaded in pairs.
#pragma once

#include "kernels/cuda/floats.cuh"

namespace servetwin {

inline constexpr int kChunk = 8;
using Chunk = float[kChunk];

__device__ inline float half_at(const unsigned char* at) {
  return __half2float(*reinterpret_cast<const __half*>(at));
}

__device__ inline void load_bytes(const unsigned char* from, int (&to)[kChunk]) {
  for (int i = 0; i < kChunk; i += 2) {
    const unsigned pair = *reinterpret_cast<const unsigned short*>(from + i);
    to[i] = static_cast<int>(pair & 255U);
    to[i + 1] = static_cast<int>(pair >> 8U);
  }
}

// A format decodes chunk `chunk` of a block.
template <class T>
struct PlainChunks {
  static constexpr int kElements = kChunk;
  static constexpr int kBytes = kChunk * sizeof(T);
  __device__ static void decode(const unsigned char* block, int, Chunk& to) {
    for (int i = 0; i < kChunk; ++i) to[i] = number(block + i * static_cast<int>(sizeof(T)));
  }
  __device__ static float number(const unsigned char* at) {
    return to_float(*reinterpret_cast<const T*>(at));
  }
};

// Q4_0 and Q4_1: the first half of a block in the low nibbles, the second in the high ones.
template <bool has_minimum>
struct Q4Chunks {
  static constexpr int kElements = 32;
  static constexpr int kBytes = has_minimum ? 20 : 18;
  __device__ static void decode(const unsigned char* block, int chunk, Chunk& to) {
    int bytes[kChunk];
    load_bytes(block + kBytes - 16 + chunk % 2 * kChunk, bytes);
    const float scale = half_at(block);
    const float minimum = has_minimum ? half_at(block + 2) : 0.0F;
    for (int i = 0; i < kChunk; ++i) {
      const int nibble = chunk < 2 ? bytes[i] & 15 : bytes[i] >> 4;
      to[i] = static_cast<float>(has_minimum ? nibble : nibble - 8) * scale + minimum;
    }
  }
};

struct Q8Chunks {
  static constexpr int kElements = 32;
  static constexpr int kBytes = 34;
  __device__ static void decode(const unsigned char* block, int chunk, Chunk& to) {
    int bytes[kChunk];
    load_bytes(block + 2 + chunk * kChunk, bytes);
    const float scale = half_at(block);
    for (int i = 0; i < kChunk; ++i) to[i] = static_cast<float>(static_cast<signed char>(bytes[i])) * scale;
  }
};

// Eight parts of 32, each with six bits of scale and of minimum, packed in twelve bytes.
struct Q4KChunks {
  static constexpr int kElements = 256;
  static constexpr int kBytes = 144;
  __device__ static void decode(const unsigned char* block, int chunk, Chunk& to) {
    const int part = chunk / 4;
    const int a = block[4 + part % 4];
    const int b = block[8 + part % 4];
    const int c = block[12 + part % 4];
    const int six_scale = part < 4 ? a & 63 : (c & 15) | a >> 6 << 4;
    const int six_minimum = part < 4 ? b & 63 : c >> 4 | b >> 6 << 4;
    const float scale = half_at(block) * static_cast<float>(six_scale);
    const float minimum = half_at(block + 2) * static_cast<float>(six_minimum);
    int bytes[kChunk];
    load_bytes(block + 16 + part / 2 * 32 + chunk % 4 * kChunk, bytes);
    for (int i = 0; i < kChunk; ++i) {
      const int nibble = part % 2 == 0 ? bytes[i] & 15 : bytes[i] >> 4;
      to[i] = scale * static_cast<float>(nibble) - minimum;
    }
  }
};

// Two halves of four runs of 32; four low bits and two high ones apart, a signed scale for 16 weights.
struct Q6KChunks {
  static constexpr int kElements = 256;
  static constexpr int kBytes = 210;
  __device__ static void decode(const unsigned char* block, int chunk, Chunk& to) {
    const int half = chunk / 16;
    const int run = chunk / 4 % 4;
    const int within = chunk % 4 * kChunk;
    int low[kChunk];
    int high[kChunk];
    load_bytes(block + 64 * half + 32 * (run % 2) + within, low);
    load_bytes(block + 128 + 32 * half + within, high);
    const auto scale = static_cast<signed char>(block[192 + chunk / 2]);
    const float product = half_at(block + 208) * static_cast<float>(scale);
    for (int i = 0; i < kChunk; ++i) {
      const int nibble = run < 2 ? low[i] & 15 : low[i] >> 4;
      to[i] = product * static_cast<float>((nibble | (high[i] >> 2 * run & 3) << 4) - 32);
    }
  }
};

}  // namespace servetwin
