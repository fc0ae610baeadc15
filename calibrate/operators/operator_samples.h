// Measured calls of kernels and collectives, whoever measured them: what importers give and fits take.
#pragma once

#include <string>
#include <vector>

#include "costmodels/operators/operator_formula.h"

namespace servetwin {

struct OperatorSample {
  std::string formula;  // whose dimensions these are
  std::string part;     // fitted apart from others: a number format, a head size
  std::string group;    // left out as a whole when the fit is tested: everything but batch and tokens
  Dims dims{};
  double us = 0;
};

struct CollectiveSample {
  std::string op;
  std::string by;
  std::int64_t ranks = 0;
  double bytes = 0;
  double us = 0;
  std::string device{};  // if not the one that was asked for
};

struct OperatorSamples {
  std::string source;
  std::vector<OperatorSample> operators;
  std::vector<CollectiveSample> collectives;
};

}  // namespace servetwin
