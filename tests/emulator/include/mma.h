// Stands in for the toolkit's header of this name: tensor-core fragments of 16 × 16 × 16 with float sums.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace nvcuda::wmma {

struct matrix_a {};
struct matrix_b {};
struct accumulator {};
struct row_major {};
struct col_major {};
enum layout_t { mem_row_major, mem_col_major };

// Lane l holds elements 8 l … 8 l + 7 of the tile in row order; a device deals them out otherwise, so kernels
// treat all elements alike.
template <class Use, int m, int n, int k, class T, class Layout = void>
struct fragment {
  static_assert(m == 16 && n == 16 && k == 16, "the emulator has this shape alone");
  static constexpr int num_elements = 8;
  T x[8];
};

template <class Fragment, class T>
void fill_fragment(Fragment& to, T value) {
  for (auto& element : to.x) element = value;
}

namespace emulated {

using servetwin::emulator::Place;
using servetwin::emulator::Post;

// What a device asks of a tile's address and rows.
inline void check_tile(const void* tile, unsigned stride, std::size_t element, Place place) {
  if (reinterpret_cast<std::uintptr_t>(tile) % 32 == 0 && stride * element % 16 == 0) return;
  servetwin::emulator::fail(servetwin::emulator::FaultKind::kMisaligned,
                            "a fragment's tile at line " + std::to_string(place.line) +
                                " is not aligned to 32 bytes, or its rows not to 16");
}

inline void meet(const char* name, Place place) {
  servetwin::emulator::collective(name, 0xFFFFFFFFU, place, {}, [](const Post*, unsigned) {});
}

inline unsigned offset_of(unsigned element, unsigned stride, bool by_rows) {
  const unsigned at = servetwin::emulator::lane_index() * 8 + element;
  return by_rows ? at / 16 * stride + at % 16 : at % 16 * stride + at / 16;
}

inline float number(__half value) { return __half2float(value); }
inline float number(__nv_bfloat16 value) { return __bfloat162float(value); }

template <class D, class A, class B, class C>
struct Operands {
  D* d;
  const A* a;
  const B* b;
  const C* c;
};

template <class All>
__attribute__((no_sanitize("thread"))) void multiply(const Post* posts, unsigned) {
  float a[256];
  float b[256];
  for (int i = 0; i < 256; ++i) {
    const All& lane = *static_cast<const All*>(posts[i / 8].in);
    a[i] = number(lane.a->x[i % 8]);
    b[i] = number(lane.b->x[i % 8]);
  }
  for (int i = 0; i < 256; ++i) {
    const All& lane = *static_cast<const All*>(posts[i / 8].in);
    float sum = lane.c->x[i % 8];
    for (int k = 0; k < 16; ++k) sum += a[i / 16 * 16 + k] * b[k * 16 + i % 16];
    lane.d->x[i % 8] = sum;
  }
}

}  // namespace emulated

template <class Use, class T, class Layout>
void load_matrix_sync(fragment<Use, 16, 16, 16, T, Layout>& to,
                      const T* from,
                      unsigned stride,
                      int line = __builtin_LINE(),
                      const char* file = __builtin_FILE()) {
  emulated::check_tile(from, stride, sizeof(T), {file, line});
  constexpr bool kByRows = std::is_same_v<Layout, row_major>;
  for (unsigned i = 0; i < 8; ++i) to.x[i] = from[emulated::offset_of(i, stride, kByRows)];
  emulated::meet("load_matrix_sync", {file, line});
}

inline void load_matrix_sync(fragment<accumulator, 16, 16, 16, float>& to,
                             const float* from,
                             unsigned stride,
                             layout_t layout,
                             int line = __builtin_LINE(),
                             const char* file = __builtin_FILE()) {
  emulated::check_tile(from, stride, sizeof(float), {file, line});
  for (unsigned i = 0; i < 8; ++i) to.x[i] = from[emulated::offset_of(i, stride, layout == mem_row_major)];
  emulated::meet("load_matrix_sync", {file, line});
}

inline void store_matrix_sync(float* to,
                              const fragment<accumulator, 16, 16, 16, float>& from,
                              unsigned stride,
                              layout_t layout,
                              int line = __builtin_LINE(),
                              const char* file = __builtin_FILE()) {
  emulated::check_tile(to, stride, sizeof(float), {file, line});
  for (unsigned i = 0; i < 8; ++i) to[emulated::offset_of(i, stride, layout == mem_row_major)] = from.x[i];
  emulated::meet("store_matrix_sync", {file, line});
}

template <class D, class A, class B, class C>
void mma_sync(D& d,
              const A& a,
              const B& b,
              const C& c,
              int line = __builtin_LINE(),
              const char* file = __builtin_FILE()) {
  using All = emulated::Operands<D, A, B, C>;
  const All operands{&d, &a, &b, &c};
  servetwin::emulator::collective("mma_sync", 0xFFFFFFFFU, {file, line}, {&operands, nullptr, 0, 0},
                                  emulated::multiply<All>);
}

}  // namespace nvcuda::wmma
