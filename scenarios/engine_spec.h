// The keys of `spec.engine`: one replica's scheduler and KV cache.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "costmodels/memory_model.h"
#include "engine/base/dtype.h"
#include "engine/base/params.h"
#include "engine/base/units.h"
#include "engine/models/kv_format.h"
#include "engine/serving/config.h"
#include "engine/serving/preset.h"

namespace servetwin {

struct InFlightSpec : InFlight {
  template <class Visitor>
  void fields(Visitor& v);
};

// The memory model's options; the fraction has a key of its own.
struct MemorySpec : MemoryOptions {
  template <class Visitor>
  void fields(Visitor& v);
};

// What becomes of KV that lies behind the windows of the model's layers.
enum class SlidingWindow : std::uint8_t { kModel, kKeepAll };

// Every layer sees the first tokens and a window, as StreamingLLM does; no window: it is off.
struct StreamingSpec {
  Tokens sink{0};
  Tokens window{0};

  template <class Visitor>
  void fields(Visitor& v);
};

// `engine`: one replica's scheduler and KV cache. Defaults are those of vLLM V1.
struct EngineSpec {
  std::string preset = "vllm-v1";
  std::optional<Tokens> max_model_len;
  std::optional<Blocks> num_blocks;
  std::optional<double> memory_fraction;
  MemorySpec memory;
  std::optional<DType> dtype;
  std::optional<DType> kv_dtype;
  std::optional<KvScales> kv_scales;
  std::optional<SlidingWindow> sliding_window;
  StreamingSpec streaming;
  InFlightSpec in_flight;
  RuleNames rules;
  ConfigNode rule_parameters;
  // Of a simulated cache.
  KvFormat kv_format() const {
    return {kv_dtype.value_or(DType::kBF16), kv_scales.value_or(KvScales::kTensor)};
  }

  EngineConfig config;  // the rest of the keys; what stands above is put into it when the run is put together

  template <class Visitor>
  void fields(Visitor& v);
};

}  // namespace servetwin

#include "scenarios/engine_fields.h"
