// Prefill attention as tiles of queries against blocks of keys on multiprocessors, and the write of the
// chunk's keys and values.
#pragma once

#include "costmodels/operators/attention_dims.h"

namespace servetwin {

class TiledPrefill : public OperatorFormula {
 public:
  // FlashAttention 3 packs the query heads of a KV head into one tile and splits the keys where tiles are
  // few.
  explicit TiledPrefill(bool fa3) : fa3_(fa3) {}

  std::vector<FormulaNumber> numbers(const GpuLimits& device) const override;
  double us(const std::vector<double>& numbers, const GpuLimits& device, const Dims& dims) const override;
  std::vector<Axes> tables() const override;
  void places(const GpuLimits& device, const Dims& dims, std::vector<double>& out) const override;

 private:
  struct Tiling {
    double tiles = 0;
    double blocks = 0;   // of keys, over all tiles
    double longest = 0;  // blocks of the last tile
  };

  Tiling tiling(const Dims& dims) const;

  bool fa3_;
};

}  // namespace servetwin
