// The time of one kernel call as a formula with named positive numbers and a table of corrections: what
// calibration fits and cost models evaluate. docs/cost-models.md states the formulas.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace servetwin {

// What a formula may know of a device, in units that give microseconds.
struct GpuLimits {
  double flops = 0;  // dense 16-bit peak, FLOP/µs
  double bytes = 0;  // device memory, byte/µs
  double link = 0;   // to the other devices of the node, one direction, byte/µs
  double sms = 0;    // multiprocessors

  friend bool operator==(const GpuLimits&, const GpuLimits&) = default;
};

// How a number fitted on one device carries over to another one.
enum class Scaling {
  kSame,                // a count, a share, a latency
  kMultiprocessorTime,  // of work on one multiprocessor
  kMemoryTime,          // a byte's
  kBandwidth,           // of device memory, in MB/µs
};

struct FormulaNumber {
  std::string name;
  double start = 1;  // where a fit begins
  double pull = 0;   // how strongly it is held there, on the logarithm: one unit is like one row's weight
  Scaling scaling = Scaling::kSame;
};

// The dimensions of a call; each formula says what its own are.
using Dims = std::array<double, 9>;

class OperatorFormula {
 public:
  // They differ by operation and number format alone.
  struct Params {
    template <class Visitor>
    void fields(Visitor& /*v*/) {}
  };

  virtual ~OperatorFormula() = default;
  virtual std::vector<FormulaNumber> numbers(const GpuLimits& device) const = 0;
  // Without corrections.
  virtual double us(const std::vector<double>& numbers, const GpuLimits& device, const Dims& dims) const = 0;
  // Corrections are sums of tables; each has axes, each axis has ascending knots.
  using Axes = std::vector<std::vector<double>>;
  virtual std::vector<Axes> tables() const { return {}; }
  // Where a call lies in them: a coordinate an axis, table by table.
  virtual void places(const GpuLimits& /*device*/, const Dims& /*dims*/, std::vector<double>& /*out*/) const {
  }
};

// A knot of a table and its weight; weights of a place add up to 1.
struct KnotWeight {
  std::size_t knot = 0;  // the last axis runs fastest
  double weight = 0;
};

std::size_t num_knots(const OperatorFormula::Axes& axes);
// Multilinear; beyond the outermost knots their values hold. `at` points to a coordinate an axis.
void knot_weights(const OperatorFormula::Axes& axes, const double* at, std::vector<KnotWeight>& out);

// A formula with its numbers for a device.
class FittedOperator {
 public:
  // One correction value a knot and table, on the logarithm of the time. Sizes must agree with the formula.
  FittedOperator(const OperatorFormula& formula,
                 std::vector<double> numbers,
                 std::vector<std::vector<double>> corrections,
                 const GpuLimits& device);

  double us(const Dims& dims) const;

 private:
  const OperatorFormula* formula_;
  std::vector<double> numbers_;
  std::vector<std::vector<double>> corrections_;
  std::vector<OperatorFormula::Axes> tables_;
  GpuLimits device_;
};

// The numbers of a fit on device `from` as they hold on device `to`.
std::vector<double> scaled_numbers(const OperatorFormula& formula,
                                   std::vector<double> numbers,
                                   const GpuLimits& from,
                                   const GpuLimits& to);

}  // namespace servetwin
