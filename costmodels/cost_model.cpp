// Names of the parts of a cost.
#include "costmodels/cost_model.h"

#include <cstddef>

#include "engine/base/check.h"
#include "engine/base/text.h"
#include "engine/base/work.h"

namespace servetwin {
namespace {

std::string padded(const std::string& text, std::size_t width) {
  return text.size() < width ? std::string(width - text.size(), ' ') + text : text;
}

// Three decimals, rounded half up.
std::string thousandths(double value) {
  const auto scaled = static_cast<std::int64_t>(value * 1000.0 + 0.5);
  const std::string digits = std::to_string(scaled % 1000 + 1000).substr(1);
  return format_grouped(scaled / 1000) + '.' + digits;
}

std::string row(const std::string& name, const std::array<std::string, 6>& cells) {
  std::string line = name + std::string(name.size() < 20 ? 20 - name.size() : 1, ' ');
  for (const std::string& cell : cells) line += padded(cell, 14);
  return line + '\n';
}

}  // namespace

std::string to_text(const StepCost& cost) {
  std::string text = row("operation", {"ms", "GFLOP", "MB", "FLOP/byte", "bound", "evidence"});
  for (std::size_t i = 0; i < cost.ops.size(); ++i) {
    const OpCost& op = cost.ops[i];
    if (op.ns <= 0) continue;
    text += row(to_string(static_cast<OpClass>(i)),
                {thousandths(op.ns / 1e6), thousandths(op.flops / 1e9), thousandths(op.bytes / 1e6),
                 thousandths(intensity({op.flops, op.bytes})), to_string(op.bound), to_string(op.evidence)});
  }
  return text + row("total", {thousandths(to_milliseconds(cost.total)), "", "", "", "", ""});
}

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
