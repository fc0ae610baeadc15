// A matrix product as tiles on multiprocessors: waves of tiles against bytes over bandwidth, for the best of
// some tile sizes and splits of k.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "costmodels/operators/operator_formula.h"

namespace servetwin {

// Dims of every matrix product: C[m, n] = A[m, k] · B[k, n].
enum GemmDim : std::size_t { kGemmM, kGemmN, kGemmK, kGemmEager };

struct GemmTile {
  double rows = 0;
  double columns = 0;
  double cluster = 1;  // multiprocessors that work on one tile
};

// Kernels that serve some of the shapes.
struct GemmRegime {
  std::string name;
  bool (*serves)(double m, double n, double k);  // the first that says yes
  std::vector<GemmTile> tiles;
  std::vector<double> splits;  // of k
  double host_us = 0;          // to launch it without a graph: a floor where kGemmEager is 1; 0: none
  double host_ragged_us = 0;   // more where m is no multiple of 4
};

struct GemmKind {
  double element_bytes = 2;  // of A and B
  double ragged_rows = 2;    // m above 128 that is no multiple of it costs more
  double quantise_row = 0;   // start of the time to quantise a row of A; 0: it is not
  bool corrected = false;    // by a table over m, n and k
  std::vector<GemmRegime> regimes;
};

class TiledGemm : public OperatorFormula {
 public:
  explicit TiledGemm(GemmKind kind) : kind_(std::move(kind)) {}

  std::vector<FormulaNumber> numbers(const GpuLimits& device) const override;
  double us(const std::vector<double>& numbers, const GpuLimits& device, const Dims& dims) const override;
  std::vector<Axes> tables() const override;
  void places(const GpuLimits& device, const Dims& dims, std::vector<double>& out) const override;

 private:
  struct Numbers;

  double best_us(const double* numbers,
                 const GemmRegime& regime,
                 const Numbers& common,
                 const GpuLimits& device,
                 const Dims& dims) const;

  GemmKind kind_;
};

}  // namespace servetwin
