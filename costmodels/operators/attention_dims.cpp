// A wave is as many thread blocks as there are multiprocessors; a block serves up to 64 query heads of one KV
// head.
#include "costmodels/operators/attention_dims.h"

#include <array>

namespace servetwin {

void DecodeBlocks::describe(std::vector<FormulaNumber>& numbers) {
  numbers.push_back({"filling_us", 0.8, 0.2, Scaling::kSame});
  numbers.push_back({"wave1_us", 4, 0.2, Scaling::kSame});
  numbers.push_back({"wave2_us", 4, 0.2, Scaling::kSame});
  numbers.push_back({"wave4_us", 3.4, 0.2, Scaling::kSame});
  numbers.push_back({"wave16_us", 3.4, 0.6, Scaling::kSame});
  numbers.push_back({"row_us", 0.004, 0.6, Scaling::kSame});
  numbers.push_back({"query_mb_us", 0.4, 0.6, Scaling::kMemoryTime});
}

double DecodeBlocks::us(const double* numbers, const GpuLimits& device, const Dims& dims) {
  constexpr std::array<double, 5> kWaves{1, 2, 4, 16, 1e9};
  const double rows = dims[kDecodeRows];
  const double blocks = rows * dims[kDecodeKvHeads] * ceil_of(dims[kDecodeHeads] / dims[kDecodeKvHeads] / 64);
  const double waves = ceil_of(blocks / device.sms);
  double us = numbers[0] * std::min(blocks / device.sms, 1.0);
  for (std::size_t i = 0; i + 1 < kWaves.size(); ++i)
    us += numbers[1 + i] * std::clamp(waves - kWaves[i], 0.0, kWaves[i + 1] - kWaves[i]);
  const double query_mb = rows * dims[kDecodeHeads] * dims[kDecodeHeadDim] * 4 / 1e6;
  return us + numbers[5] * rows + numbers[6] * query_mb;
}

}  // namespace servetwin
