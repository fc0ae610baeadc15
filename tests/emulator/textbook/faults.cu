// Kernels that each break one rule, so that the emulator can be seen to notice.
#include "kernels/cuda/launch.cuh"
#include "tests/emulator/textbook/textbook.h"

namespace servetwin::textbook {
namespace {

__global__ void break_it(Wrong wrong, int* numbers, int* line) {
  int* const shared = SharedLayout(dynamic_shared()).take<int>(64);
  const int i = thread_of_block();
  const int lane = lane_of_warp();
  switch (wrong) {
    case Wrong::kRace:
      shared[i] = 0;
      __syncthreads();
      shared[i] = i;
      *line = __LINE__ + 1;
      numbers[i] = shared[63 - i];
      break;
    case Wrong::kGlobalRace:
      *line = __LINE__ + 1;
      if (i == 0) numbers[0] = static_cast<int>(blockIdx.x);
      break;
    case Wrong::kLaneRace:
      shared[i] = 0;
      __syncwarp();
      shared[i] = i;
      *line = __LINE__ + 1;
      numbers[i] = shared[i ^ 1];
      break;
    case Wrong::kUnwritten:
      if (i < 63) shared[i] = i;
      __syncthreads();
      *line = __LINE__ + 1;
      numbers[i] = shared[i];
      break;
    case Wrong::kBeyondBuffer:
      *line = __LINE__ + 1;
      numbers[i + 1] = i;
      break;
    case Wrong::kBeyondShared:
      *line = __LINE__ + 1;
      numbers[i] = shared[64];
      break;
    case Wrong::kDivergentBarrier:
      *line = __LINE__ + 1;
      if (i < 32) __syncthreads();
      if (i >= 32) __syncthreads();
      break;
    case Wrong::kMissedBarrier:
      if (i == 63) return;
      *line = __LINE__ + 1;
      __syncthreads();
      break;
    case Wrong::kDeadlock:
      *line = __LINE__ + 1;
      if (lane < 16) __syncwarp(0x1FFFFU);
      if (lane == 16) __syncwarp(0x30000U);
      if (lane == 17) __syncwarp(0x60000U);
      if (lane == 18) __syncwarp(0x40001U);
      break;
    case Wrong::kMixedOperations:
      *line = __LINE__ + 1;
      if (lane < 16) __syncwarp();
      if (lane >= 16) numbers[i] = __shfl_xor_sync(kAllLanes, i, 1);
      break;
    case Wrong::kForeignMask:
      *line = __LINE__ + 1;
      numbers[i] = __shfl_xor_sync(0xFFFFU, i, 1);
      break;
    case Wrong::kAbsentSource:
      *line = __LINE__ + 1;
      if (lane < 16) numbers[i] = __shfl_sync(0xFFFFU, i, 20);
      break;
  }
}

int last_line = 0;

}  // namespace

void break_rule(Wrong wrong, int* numbers) {
  emulated_launch(break_it, {2}, {64}, 64 * sizeof(int), wrong, numbers, &last_line);
}

int faulty_line(Wrong) { return last_line; }

}  // namespace servetwin::textbook
