// FLOPs and bytes of copying KV blocks within a device.
#pragma once

#include "engine/base/work.h"

namespace servetwin {

// Each block is read and written once.
constexpr Work copy_blocks_work(double copies, double block_bytes) {
  return {0.0, 2.0 * copies * block_bytes};
}

}  // namespace servetwin
