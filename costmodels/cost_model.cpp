// Names of the parts of a cost.
#include "costmodels/cost_model.h"

#include "engine/base/check.h"

namespace servetwin {

const char* to_string(OpClass op) {
  switch (op) {
    case OpClass::kGemm:
      return "gemm";
    case OpClass::kAttentionPrefill:
      return "attention prefill";
    case OpClass::kAttentionDecode:
      return "attention decode";
    case OpClass::kNorm:
      return "norm and activation";
    case OpClass::kMoe:
      return "moe";
    case OpClass::kSampling:
      return "sampling";
    case OpClass::kCollective:
      return "collective";
    case OpClass::kLaunch:
      return "launch";
    case OpClass::kHost:
      return "host";
  }
  CHECK_INVARIANT(false, static_cast<int>(op));
}

const char* to_string(Evidence evidence) {
  switch (evidence) {
    case Evidence::kMeasured:
      return "measured";
    case Evidence::kInterpolated:
      return "interpolated";
    case Evidence::kExtrapolated:
      return "extrapolated";
    case Evidence::kAnalytic:
      return "analytic";
  }
  CHECK_INVARIANT(false, static_cast<int>(evidence));
}

const char* to_string(Bound bound) {
  switch (bound) {
    case Bound::kNone:
      return "none";
    case Bound::kCompute:
      return "compute";
    case Bound::kMemory:
      return "memory";
    case Bound::kOverhead:
      return "overhead";
  }
  CHECK_INVARIANT(false, static_cast<int>(bound));
}

}  // namespace servetwin
