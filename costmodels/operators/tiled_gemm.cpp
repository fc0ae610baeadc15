// Kernel libraries choose among many kernels; the least time over plausible tiles stands for their choice.
#include "costmodels/operators/tiled_gemm.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "costmodels/operators/attention_dims.h"
#include "engine/base/check.h"
#include "engine/base/det_math.h"

namespace servetwin {
namespace {

double fourth_root(double x) { return std::sqrt(std::sqrt(x)); }
double fourth(double x) { return x * x * x * x; }

constexpr double kPull = 0.1;
// Where all short calls lie on the host's floor, the base under it cannot be seen. DeepGEMM's short calls on
// H800, measured without the floor, show about this.
constexpr double kUnseenBaseUs = 4;

}  // namespace

// Those that all regimes share, in the order of numbers().
struct TiledGemm::Numbers {
  double base_us;
  double bandwidth;  // share of the device's
  double ragged;
  double reduce_us;  // to add up the parts of a split
  double row_us;     // to quantise a row, at least
  double element_us;
};

std::vector<FormulaNumber> TiledGemm::numbers(const GpuLimits& /*device*/) const {
  std::vector<FormulaNumber> all{{"base_us", 2.5, kPull},
                                 {"bandwidth", 0.85, kPull},
                                 {"ragged", 0.02, kPull},
                                 {"reduce_us", 2.0, kPull}};
  if (kind_.quantise_row > 0) {
    all.push_back({"quantise_row_us", kind_.quantise_row, kPull});
    all.push_back({"quantise_element_us", 2e-6, kPull});
  }
  for (const GemmRegime& regime : kind_.regimes) {
    all.push_back({regime.name + ".filling", 0.2, kPull});
    if (regime.host_us > 0) {
      all.push_back({regime.name + ".host_us", regime.host_us, kPull});
      all.push_back({regime.name + ".host_ragged_us", regime.host_ragged_us, kPull});
    }
    for (const GemmTile& tile : regime.tiles) {
      const std::string name = regime.name + '.' + std::to_string(static_cast<int>(tile.rows)) + 'x' +
                               std::to_string(static_cast<int>(tile.columns));
      const double slowdown = 1.2 * (1 + 64 / tile.rows) * (1 + 64 / tile.columns) / 1.8;
      all.push_back({name + ".slowdown", slowdown, kPull});
      all.push_back({name + ".wave_us", 0.7, kPull});
    }
  }
  return all;
}

double TiledGemm::best_us(const double* numbers,
                          const GemmRegime& regime,
                          const Numbers& common,
                          const GpuLimits& device,
                          const Dims& dims) const {
  const double m = dims[kGemmM];
  const double n = dims[kGemmN];
  const double k = dims[kGemmK];
  const double flops = device.flops * 2 / kind_.element_bytes;
  const double bytes = kind_.element_bytes * k * (m + n) + 2 * m * n;
  const double filling = numbers[0];
  double best = std::numeric_limits<double>::infinity();
  for (std::size_t t = 0; t < regime.tiles.size(); ++t) {
    const GemmTile& tile = regime.tiles[t];
    const double* own = numbers + 1 + 2 * t;
    const double k_us = 2 * tile.rows * tile.columns / tile.cluster * device.sms / flops * own[0];
    for (const double split : regime.splits) {
      const double tiles = ceil_of(m / tile.rows) * ceil_of(n / tile.columns) * tile.cluster * split;
      const double compute = ceil_of(tiles / device.sms) * (k / split * k_us + own[1]);
      const double rate = device.bytes * common.bandwidth * std::min(1.0, tiles / (device.sms * filling));
      double us = fourth_root(fourth(compute) + fourth(bytes / rate));
      if (split > 1) us += common.reduce_us + m * n * split * 8 / device.bytes;
      best = std::min(best, us);
    }
  }
  return best;
}

double TiledGemm::us(const std::vector<double>& numbers, const GpuLimits& device, const Dims& dims) const {
  const double m = dims[kGemmM];
  const double* at = numbers.data();
  Numbers common{at[0], at[1], at[2], at[3], 0, 0};
  at += 4;
  if (kind_.quantise_row > 0) {
    common.row_us = at[0];
    common.element_us = at[1];
    at += 2;
  }
  for (const GemmRegime& regime : kind_.regimes) {
    const bool has_host = regime.host_us > 0;
    if (!regime.serves(m, dims[kGemmN], dims[kGemmK])) {
      at += 1 + (has_host ? 2 : 0) + 2 * static_cast<std::ptrdiff_t>(regime.tiles.size());
      continue;
    }
    std::vector<double> own{at[0]};
    own.insert(own.end(), at + (has_host ? 3 : 1),
               at + (has_host ? 3 : 1) + 2 * static_cast<std::ptrdiff_t>(regime.tiles.size()));
    double us = best_us(own.data(), regime, common, device, dims);
    const auto rows = static_cast<std::int64_t>(m);
    if (m > 128 && rows % static_cast<std::int64_t>(kind_.ragged_rows) != 0) us *= 1 + common.ragged;
    const double element = common.element_us * dims[kGemmK];
    us += m * std::sqrt(common.row_us * common.row_us + element * element);
    if (has_host && dims[kGemmEager] == 0) return us + std::min(common.base_us, kUnseenBaseUs);
    us += common.base_us;
    if (!has_host) return us;
    const double host = at[1] + (rows % 4 != 0 ? at[2] : 0);
    return fourth_root(std::sqrt(fourth(us) * fourth(us) + fourth(host) * fourth(host)));
  }
  CHECK_INVARIANT(false, m, dims[kGemmN], dims[kGemmK]);
  return 0;
}

std::vector<OperatorFormula::Axes> TiledGemm::tables() const {
  if (!kind_.corrected) return {};
  return {{{0, 5, 7, 9, 11, 13, 15}, {5, 8, 10, 12, 14, 16}, {5, 8, 10, 12, 14, 16}}};
}

void TiledGemm::places(const GpuLimits& /*device*/, const Dims& dims, std::vector<double>& out) const {
  if (!kind_.corrected) return;
  for (const std::size_t dim : {kGemmM, kGemmN, kGemmK}) out.push_back(det_log2(dims[dim]));
}

}  // namespace servetwin
