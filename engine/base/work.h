// The work of one operation on one device: what a kernel declares, a cost model prices and a benchmark
// divides by.
#pragma once

namespace servetwin {

// Doubles, because counts pass 2^63 for long prompts; each is exact below 2^53.
struct Work {
  double flops = 0;  // a multiply-add counts as two
  double bytes = 0;  // moved to and from device memory

  friend constexpr Work operator+(Work a, Work b) { return {a.flops + b.flops, a.bytes + b.bytes}; }
  friend constexpr Work operator*(double k, Work a) { return {k * a.flops, k * a.bytes}; }
};

// Arithmetic intensity in FLOP per byte; 0 for no bytes. Below the device's peak FLOP/s divided by its
// bandwidth an operation is limited by memory.
constexpr double intensity(Work work) { return work.bytes > 0 ? work.flops / work.bytes : 0.0; }

}  // namespace servetwin
