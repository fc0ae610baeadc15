// Launch of the copying of KV blocks within a device, as copy-on-write and moves need it.
#pragma once

#include <cstdint>

#include "kernels/cuda/stream.h"

namespace servetwin {

// Blocks of `block_bytes`, a multiple of 4, lie one after the other; copy i takes block pairs[i][0] to block
// pairs[i][1]. No block is written twice, or both read and written.
struct BlockCopies {
  void* blocks = nullptr;
  std::int64_t block_bytes = 0;
  const std::int32_t* pairs = nullptr;  // [copies][2], on the device
  std::int64_t copies = 0;
};

void copy_blocks_cuda(const BlockCopies& copies, CudaStream stream = {});

}  // namespace servetwin
