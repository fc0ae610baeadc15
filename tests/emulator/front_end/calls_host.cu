// A kernel that calls a function of the host, which the emulator runs and a device cannot: the front end must
// refuse it.
#include "kernels/cuda/launch.cuh"

namespace servetwin {
namespace {

int host_number() { return std::rand(); }

__global__ void ask_host(int* number) { *number = host_number(); }

}  // namespace

void run_ask_host(int* number) { launch("ask_host", {grid_of(1), 32, 0, {}}, ask_host, number); }

}  // namespace servetwin
