// The queue of a device on which kernels run, for code that knows no CUDA.
#pragma once

namespace servetwin {

// Holds a cudaStream_t; null is the default stream.
struct CudaStream {
  void* handle = nullptr;
};

}  // namespace servetwin
