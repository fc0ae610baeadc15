// Reads measurements of others, each layout by a plug-in of its own.
#pragma once

#include <string>
#include <vector>

#include "calibrate/operators/operator_samples.h"
#include "engine/base/registry.h"

namespace servetwin {

class Importer {
 public:
  // Layouts take no parameters.
  struct Params {
    template <class Visitor>
    void fields(Visitor& /*v*/) {}
  };

  virtual ~Importer() = default;
  // What the folder holds of the device, named as in the catalogue. Throws ConfigError with file and line,
  // and where there is nothing.
  virtual OperatorSamples read(const std::string& folder, const std::string& device) const = 0;
};

}  // namespace servetwin
