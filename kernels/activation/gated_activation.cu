// A thread takes packs of a row; blocks stride over all of them.
#include "kernels/activation/gated_activation_cuda.h"
#include "kernels/cuda/floats.cuh"

namespace servetwin {
namespace {

constexpr int kActivationThreads = 256;
constexpr std::int64_t kMostBlocks = 2048;  // some waves on the largest device

struct Silu {
  __device__ static float of(float x) { return x / (1.0F + expf(-x)); }
};

// x / 2 · (1 + tanh u) = x / (1 + exp(−2 u)).
struct Gelu {
  __device__ static float of(float x) {
    return x / (1.0F + expf(-1.5957691216F * (x + 0.044715F * (x * x * x))));
  }
};

template <class Activation, class T, int size>
__global__ void __launch_bounds__(kActivationThreads)
    gate_rows(std::int64_t rows, std::int64_t width, const T* gate_up, T* output) {
  const std::int64_t packs = rows * width / size;
  const std::int64_t step = blocks_x() * threads_of_block();
  for (std::int64_t i = block_x() * threads_of_block() + thread_of_block(); i < packs; i += step) {
    const std::int64_t at = i * size;
    const T* const gate = gate_up + at / width * 2 * width + at % width;
    Pack<T, size> gates = load_pack<size>(gate);
    const Pack<T, size> ups = load_pack<size>(gate + width);
    for (int j = 0; j < size; ++j) {
      gates.values[j] = from_float<T>(Activation::of(to_float(gates.values[j])) * to_float(ups.values[j]));
    }
    store_pack<size>(output + at, gates);
  }
}

template <class Activation>
void gate_all(const char* name, const GatedRows& all, CudaStream stream) {
  if (all.rows * all.width == 0) return;
  with_float_type(all.dtype, [&](auto element) {
    using T = decltype(element);
    constexpr int kPack = 16 / sizeof(T);
    const bool packs = fits_packs<T>(all.width, all.gate_up, all.output);
    const std::int64_t work = all.rows * all.width / (packs ? kPack : 1);
    const Launch how{grid_of(min(kMostBlocks, ceil_div(work, kActivationThreads))), kActivationThreads, 0,
                     stream};
    launch(name, how, packs ? gate_rows<Activation, T, kPack> : gate_rows<Activation, T, 1>, all.rows,
           all.width, static_cast<const T*>(all.gate_up), static_cast<T*>(all.output));
  });
}

}  // namespace

void silu_and_mul_cuda(const GatedRows& rows, CudaStream stream) {
  gate_all<Silu>("silu_and_mul", rows, stream);
}

void gelu_and_mul_cuda(const GatedRows& rows, CudaStream stream) {
  gate_all<Gelu>("gelu_and_mul", rows, stream);
}

}  // namespace servetwin
