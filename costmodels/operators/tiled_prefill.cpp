// Numbers are fitted apart for each head size and cache format, as kernels are compiled apart.
#include "costmodels/operators/tiled_prefill.h"

#include "engine/base/det_math.h"

namespace servetwin {
namespace {

// Queries and keys of a tile.
struct TileSize {
  double queries;
  double keys;
};

TileSize tile_of(bool fa3, double head_dim) {
  if (!fa3) return {128, 64};
  if (head_dim <= 64) return {192, 128};
  return head_dim <= 128 ? TileSize{128, 128} : TileSize{128, 80};
}

constexpr std::array<double, 6> kHeadKnots{0, 1, 2, 3, 4, 6};  // log2 of KV heads

// The time to write a token's keys and values, by number of KV heads.
double write_us(const double* at_knots, double kv_heads) {
  const double x = std::clamp(det_log2(kv_heads), kHeadKnots.front(), kHeadKnots.back());
  std::size_t below = 0;
  while (below + 2 < kHeadKnots.size() && kHeadKnots[below + 1] <= x) ++below;
  const double part = (x - kHeadKnots[below]) / (kHeadKnots[below + 1] - kHeadKnots[below]);
  return at_knots[below] + part * (at_knots[below + 1] - at_knots[below]);
}

enum PrefillNumber : std::size_t {
  kOfBase,
  kOfBlock,
  kOfTile,
  kOfTail,
  kOfTailOfRows,
  kOfQueryMb,
  kOfKeyMb,
  kOfRow,
  kOfLongestBlock,
  kOfLongestTile,
  kOfHidden,
  kOfSplit,
  kOfInCache,
  kOfThrottle,
  kOfWriteMb,
  kOfWrite  // the first of six
};

}  // namespace

std::vector<FormulaNumber> TiledPrefill::numbers(const GpuLimits& /*device*/) const {
  constexpr Scaling kSm = Scaling::kMultiprocessorTime;
  constexpr Scaling kMemory = Scaling::kMemoryTime;
  return {{"base_us", 10, 0},
          {"block_us", 0.6, 0, kSm},
          {"tile_us", 0.8, 0.2, kSm},
          {"tail", 0.2, 0.2},
          {"tail_of_rows", 0.3, 0.2},
          {"query_mb_us", 0.3, 0.2, kMemory},
          {"key_mb_us", 0.3, 0.2, kMemory},
          {"row_us", 0.006, 0.6},
          {"longest_block_us", 0.6, 0.2, kSm},
          {"longest_tile_us", 1, 0.2},
          {"hidden", 0.3, 0.2},
          {"split_us", 2, 0.2},
          {"in_cache", 0.6, 2},
          {"throttle", 0.01, 0.2},
          {"write_mb_us", 0.1, 0.2, kMemory},
          {"write1_us", 0.001, 0.2, kMemory},
          {"write2_us", 0.0015, 0.2, kMemory},
          {"write4_us", 0.002, 0.2, kMemory},
          {"write8_us", 0.003, 0.2, kMemory},
          {"write16_us", 0.006, 0.2, kMemory},
          {"write64_us", 0.02, 0.2, kMemory}};
}

TiledPrefill::Tiling TiledPrefill::tiling(const Dims& dims) const {
  const TileSize tile = tile_of(fa3_, dims[kPrefillHeadDim]);
  const double group = fa3_ ? dims[kPrefillHeads] / dims[kPrefillKvHeads] : 1;
  const double heads = fa3_ ? dims[kPrefillKvHeads] : dims[kPrefillHeads];
  const double tokens = dims[kPrefillTokens];
  const double cached = dims[kPrefillCached];
  const double rows_of_tiles = ceil_of(tokens * group / tile.queries);
  const double half = 0.5 * std::clamp(1 - tile.queries / group / tile.keys, 0.0, 1.0);
  const double mean = (cached + tokens * (rows_of_tiles + 1) / (2 * rows_of_tiles)) / tile.keys + half;
  Tiling out;
  out.tiles = dims[kPrefillRows] * heads * rows_of_tiles;
  out.blocks = out.tiles * std::max(1.0, mean);
  out.longest = std::max(1.0, ceil_of((cached + tokens) / tile.keys));
  return out;
}

double TiledPrefill::us(const std::vector<double>& p, const GpuLimits& device, const Dims& dims) const {
  const Tiling tiling = this->tiling(dims);
  const double rows = dims[kPrefillRows];
  const double tokens = rows * dims[kPrefillTokens];
  double all = (tiling.blocks * p[kOfBlock] + tiling.tiles * p[kOfTile]) / device.sms;
  // Clocks drop in long runs.
  all *= 1 + p[kOfThrottle] * std::clamp(det_log2(std::max(all, 1.0)) - 10, 0.0, 4.0);
  const double longest = tiling.longest * p[kOfLongestBlock] + p[kOfLongestTile];
  const double tail =
      p[kOfTail] + p[kOfTailOfRows] * std::min(1.0, device.sms * rows / tiling.tiles) * (1 - 1 / rows);
  double compute = std::max(longest, all + tail * longest);
  const double splits = static_cast<double>(
      static_cast<std::int64_t>(std::min(device.sms / tiling.tiles, std::max(1.0, tiling.longest / 4))));
  if (fa3_ && tiling.tiles < 0.8 * device.sms && splits >= 2) {
    const double split = tiling.longest * p[kOfLongestBlock] / splits + p[kOfLongestTile] + p[kOfSplit];
    compute = std::min(compute, std::max(split, all));
  }
  const double query_mb = tokens * dims[kPrefillHeads] * dims[kPrefillHeadDim] * 4 / 1e6;
  const double key_mb = rows * (dims[kPrefillTokens] + dims[kPrefillCached]) * dims[kPrefillKvHeads] *
                        dims[kPrefillHeadDim] * 2 * dims[kPrefillKvBytes] / 1e6;
  const double from_memory = p[kOfInCache] + (1 - p[kOfInCache]) * out_of_cache(query_mb + key_mb);
  const double memory = (p[kOfQueryMb] * query_mb + p[kOfKeyMb] * key_mb) * from_memory;
  const double write =
      tokens * write_us(p.data() + kOfWrite, dims[kPrefillKvHeads]) + p[kOfWriteMb] * query_mb * from_memory;
  return p[kOfBase] + std::max(compute, memory) + p[kOfHidden] * std::min(compute, memory) +
         p[kOfRow] * rows + write;
}

std::vector<OperatorFormula::Axes> TiledPrefill::tables() const {
  const std::vector<double> tokens{4, 6, 8, 10, 12, 14};
  return {{tokens, {-4, -2, -1, 0, 1, 2, 3, 5, 8}}, {tokens, {0, 1, 3, 6}}};
}

void TiledPrefill::places(const GpuLimits& device, const Dims& dims, std::vector<double>& out) const {
  const double tokens = det_log2(dims[kPrefillTokens]);
  out.push_back(tokens);
  out.push_back(det_log2(tiling(dims).tiles / device.sms));
  out.push_back(tokens);
  out.push_back(det_log2(dims[kPrefillHeads] / dims[kPrefillKvHeads]));
}

}  // namespace servetwin
