// Who says how long an answer will be, for rules that order by it. The core knows no true length.
#pragma once

#include "engine/base/units.h"
#include "engine/serving/request.h"

namespace servetwin {

class Predictor {
 public:
  virtual ~Predictor() = default;
  // Outputs that the request is expected to have in all, at least 1; the same whenever it is asked.
  virtual Tokens outputs(const RequestSpec& request) const = 0;
  // It reads RequestSpec::told_outputs, the truth: backends that know it must fill it in, others refuse, and
  // the report says that some rule knew true lengths.
  virtual bool oracle() const { return false; }
};

}  // namespace servetwin
