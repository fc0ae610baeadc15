// What was fitted to measured kernels and collectives of a device: read from costmodels/profiles/*.yaml,
// written by `servetwin fit`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "costmodels/device_spec.h"
#include "costmodels/operators/operator_formula.h"
#include "engine/base/params.h"

namespace servetwin {

struct Correction {
  std::vector<double> values;  // a knot each, the last axis fastest

  template <class Visitor>
  void fields(Visitor& v) {
    v("values", values, "Logarithms of measured over formula, a knot each.", Range{-2.0, 2.0});
  }
};

// One formula with its numbers. `part` tells fits of one formula apart: a number format, a head size.
struct OperatorFit {
  std::string formula;
  std::string part;
  ConfigNode numbers;  // a map: name to value
  std::vector<Correction> corrections;
  std::int64_t samples = 0;
  double held_out_error = 0;  // median |error| where whole groups of shapes were left out

  template <class Visitor>
  void fields(Visitor& v) {
    v("formula", formula, "Its name in the registry.", kRequired);
    v("part", part, "Which calls it holds for.", kRequired);
    v("numbers", numbers, "The formula's numbers by name.", kRequired);
    v("corrections", corrections, "A table each, as the formula has them.");
    v("samples", samples, "Measurements it was fitted to.");
    v("held_out_error", held_out_error, "Median error of groups of shapes that were left out of the fit.");
  }
};

// Times of a collective by bytes: linear between points, and along the last two beyond them.
struct CollectiveTimes {
  std::string op;  // all_reduce, all_gather, reduce_scatter, alltoall
  std::string by;  // nccl; custom: the engine's own kernel, in a graph
  std::int64_t ranks = 2;
  std::vector<double> bytes;
  std::vector<double> us;
  std::string device;  // where it was measured; empty: on the profile's own

  template <class Visitor>
  void fields(Visitor& v) {
    v("op", op, "Operation.", kRequired);
    v("by", by, "Library: nccl, or custom for an engine's own kernel in a graph.", kRequired);
    v("ranks", ranks, "Devices of one node.", kRequired, AtLeast{2});
    v("bytes", bytes, "Message sizes, ascending.", kRequired);
    v("us", us, "Their times in microseconds.", kRequired);
    v("device", device, "Where they were measured, by default on the profile's device.");
  }
  double at(double message_bytes) const;
  std::string problem() const;
};

// Of the device that was measured: what scales numbers to other devices.
struct MeasuredLimits {
  FlopsPerSecond peak;
  BytesPerSecond memory_bandwidth;
  BytesPerSecond node_link;
  int multiprocessors = 0;

  template <class Visitor>
  void fields(Visitor& v) {
    v("peak", peak, "Dense 16-bit peak.", kRequired, kPositive);
    v("memory_bandwidth", memory_bandwidth, "Nominal.", kRequired, kPositive, kBytesOnly);
    v("node_link", node_link, "To the other devices of the node, each direction.", kRequired, kPositive);
    v("multiprocessors", multiprocessors, "Streaming multiprocessors.", kRequired, AtLeast{1});
  }
};

struct OperatorProfile {
  std::string device;
  MeasuredLimits limits;
  std::string source;
  std::vector<OperatorFit> fits;
  std::vector<CollectiveTimes> collectives;

  template <class Visitor>
  void fields(Visitor& v) {
    v("device", device, "The device that was measured.", kRequired);
    v("limits", limits, "Of that device.", kRequired);
    v("source", source, "Who measured, with what, under which licence.", kRequired);
    v("fits", fits, "Kernels.", kRequired);
    v("collectives", collectives, "Collectives inside a node.");
  }

  GpuLimits gpu() const;
  // Null when there is none.
  const OperatorFit* find(const std::string& formula, const std::string& part) const;
};

// The limits that formulas know of.
GpuLimits limits_of(const DeviceSpec& device);

// A fit on the device `from`, as it holds on `to`. Throws ConfigError for a formula nobody knows and for
// numbers or corrections that are not the formula's.
FittedOperator operator_of(const OperatorFit& fit, const GpuLimits& from, const GpuLimits& to);

// The other way round: numbers with six significant digits.
OperatorFit fit_of(const std::string& formula,
                   const std::string& part,
                   const std::vector<double>& numbers,
                   const std::vector<std::vector<double>>& corrections,
                   const GpuLimits& device);

// Rounded to so many significant digits, as profiles are written.
double rounded(double value, int digits = 6);

}  // namespace servetwin
