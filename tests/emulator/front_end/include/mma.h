// Tensor-core fragments for the front end.
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

template <class Use, int m, int n, int k, class T, class Layout = void>
struct fragment {
  T x[8];
};

template <class Fragment, class T>
__device__ void fill_fragment(Fragment& to, T value);
template <class Use, class T, class Layout>
__device__ void load_matrix_sync(fragment<Use, 16, 16, 16, T, Layout>& to, const T* from, unsigned stride);
template <class T>
__device__ void load_matrix_sync(fragment<accumulator, 16, 16, 16, T>& to,
                                 const T* from,
                                 unsigned stride,
                                 layout_t layout);
template <class T>
__device__ void store_matrix_sync(T* to,
                                  const fragment<accumulator, 16, 16, 16, T>& from,
                                  unsigned stride,
                                  layout_t layout);
template <class D, class A, class B, class C>
__device__ void mma_sync(D& d, const A& a, const B& b, const C& c);

}  // namespace nvcuda::wmma
