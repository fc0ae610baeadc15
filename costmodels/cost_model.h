// What a step costs: by class of operation, each with the evidence behind the number.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>

#include "engine/base/dtype.h"
#include "engine/base/ids.h"
#include "engine/base/time.h"
#include "engine/serving/shape.h"

namespace servetwin {

enum class OpClass : std::uint8_t {
  kGemm,
  kAttentionPrefill,
  kAttentionDecode,
  kNorm,
  kMoe,
  kSampling,
  kCollective,
  kLaunch,
  kHost
};

inline constexpr int kNumOpClasses = 9;

const char* to_string(OpClass op);

// Where a number comes from, best first. A sum has the worst class of its parts that matter.
enum class Evidence : std::uint8_t { kMeasured, kInterpolated, kExtrapolated, kAnalytic };

const char* to_string(Evidence evidence);

// Which limit an operation is under in this step.
enum class Bound : std::uint8_t { kNone, kCompute, kMemory, kOverhead };

const char* to_string(Bound bound);

struct OpCost {
  double ns = 0;     // for the whole step, all layers
  double flops = 0;  // per rank
  double bytes = 0;  // moved to and from device memory, per rank
  Evidence evidence = Evidence::kAnalytic;
  Bound bound = Bound::kNone;
};

// A step in full, for explain and reports. Duration and step_time() are the same integer.
struct StepCost {
  std::array<OpCost, kNumOpClasses> ops{};
  Duration total{};
};

// A table for people: each operation's time, work, intensity, limit and evidence, then the total.
std::string to_text(const StepCost& cost);

// A prefill row by itself, for cost models that cannot do with the sums.
struct PrefillRow {
  std::int64_t tokens = 0;   // query length
  std::int64_t context = 0;  // tokens computed before
};

// What a model may look at besides the shape.
struct StepInput {
  const StepShape* shape = nullptr;
  ReplicaId replica{0};
  StepId step{0};
  RequestId first_request =
      kNoRequest;  // of the step's rows; kNoRequest when the step has no membership change
  std::span<const PrefillRow> prefill_rows;  // all of them, for models that need rows; else empty
};

// A pure-decode step's time as a closed form in the summed context: duration_from_ns(base_ns + slope_ns *
// context). step_time() of such a shape must give exactly that for contexts from `from` to below `until`.
struct ContextLine {
  double base_ns = 0;
  double slope_ns = 0;
  double host_ns =
      0;  // the part of base_ns that is OpClass::kHost: it overlaps where steps are prepared ahead
  double from = 0;
  double until = std::numeric_limits<double>::infinity();

  bool holds(double context) const { return context >= from && context < until; }
};

struct ConfigNode;       // engine/base/config_node.h
struct ModelSpec;        // engine/models/spec.h
struct DeviceSpec;       // costmodels/device_spec.h
struct EngineSet;        // costmodels/engine_set.h
struct OperatorProfile;  // costmodels/operator_profile.h

// How far steps can grow in the engine that is priced; 0: not stated.
struct StepLimits {
  std::int64_t tokens = 0;
  std::int64_t sequences = 0;
  std::int64_t context = 0;
};

// What a cost model is made from besides its parameters. A model that needs what is missing here refuses it
// by name.
struct CostContext {
  const ModelSpec* model = nullptr;    // only read while the cost model is made
  const DeviceSpec* device = nullptr;  // the same
  int tp = 1;
  int pp = 1;
  StepLimits limits;
  std::int64_t sink = 0;          // first tokens of a sequence that layers with a window see besides
  std::optional<DType> dtype;     // of the weights; none: as the model is published
  std::optional<DType> kv_dtype;  // none: 16 bits, as the activations
  std::string folder;  // where relative file names in parameters start; empty: the working directory
  const EngineSet* engine = nullptr;           // of the parameter `engine`, where it names one
  const OperatorProfile* operators = nullptr;  // of the device, its own or borrowed
  // Reads a YAML file, strictly, throwing ConfigError; null: models that are made from one refuse.
  ConfigNode (*load_tree)(const std::string& file) = nullptr;
};

// Pure: the same input gives the same cost.
class CostModel {
 public:
  using MakeContext = CostContext;

  virtual ~CostModel() = default;
  virtual Duration step_time(const StepInput& input) const = 0;
  virtual StepCost step(const StepInput& input) const = 0;
  // Whether step() and step_time() read prefill_rows. The shape's sums are all that others are given.
  virtual bool needs_rows() const { return false; }
  // The window whose sums shapes must have, in tokens; 0: it does not look at them.
  virtual std::int64_t window() const { return 0; }
  // Whether times belong to certain steps, so that a shape alone has none.
  virtual bool keyed_by_step() const { return false; }
  // Present when the time of a pure-decode step with these sequence counts depends on decode_context alone.
  // The line holds for the shape's own context and around it.
  virtual std::optional<ContextLine> decode_line(const StepShape& /*shape*/) const { return std::nullopt; }
  // Worst evidence among what the model uses.
  virtual Evidence evidence() const = 0;
  // Identifies the model and every number in it.
  virtual std::uint64_t profile_hash() const = 0;
  virtual std::string describe() const = 0;
};

}  // namespace servetwin
