// How many KV blocks fit on a device, with every byte accounted for in writing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "costmodels/engine_set.h"
#include "engine/base/dtype.h"
#include "engine/base/error.h"
#include "engine/base/params.h"
#include "engine/base/units.h"
#include "engine/models/spec.h"

namespace servetwin {

// Engines mean three different things by their memory fraction.
enum class FractionOf : std::uint8_t {
  kTotal,   // vLLM gpu_memory_utilization: all of the engine's use stays below this share of the device
  kFree,    // TensorRT-LLM free_gpu_memory_fraction: the cache gets this share of what all else leaves
  kStatic,  // SGLang mem_fraction_static: weights and cache together get this share of the device
};

// What is stated is used as it is; what is not is estimated, and the derivation says so.
struct MemoryOptions {
  double fraction = 0.9;
  FractionOf of = FractionOf::kTotal;
  std::optional<Bytes> weights;
  std::optional<Bytes> activations;
  std::optional<Bytes> context;
  std::optional<Bytes> graphs;

  template <class Visitor>
  void fields(Visitor& v) {
    v("fraction", fraction, "Share of device memory; of what, `of` says.", Range{0.01, 1.0});
    v("of", of, "total: vLLM; free: TensorRT-LLM; static: SGLang.",
      Choices<FractionOf>{
          {"total", FractionOf::kTotal}, {"free", FractionOf::kFree}, {"static", FractionOf::kStatic}});
    v("weights", weights, "Per device; none: from the model's shapes.");
    v("activations", activations, "Peak of a step, collectives included; none: estimated.");
    v("context", context, "What driver and runtime keep; none: the engine's for total, else 512 MiB.");
    v("graphs", graphs, "CUDA graphs that count against the fraction; none: 0, they use what it leaves.");
  }
};

struct MemoryRequest {
  const ModelSpec* model = nullptr;
  Bytes device_memory{};  // as the driver reports it
  int tp = 1;
  DType dtype = DType::kBF16;     // weights
  DType kv_dtype = DType::kBF16;  // cache
  Tokens block_size{16};
  std::int64_t layers_per_block = 0;  // 0: all of them
  // Of a token in a block on one device, with its scales; none: elements of kv_dtype alone.
  std::optional<Bytes> token_in_block;
  Tokens max_batched_tokens{};  // a step's peak, for the activation estimate
  std::int64_t max_sequences = 0;
  EngineMemory engine;
  MemoryOptions options;
};

struct MemoryLine {
  std::string name;
  Bytes bytes{};
  std::string how;
};

struct KvMemory {
  Bytes cache{};
  Bytes per_block{};  // on one device
  Tokens block_size{};
  Blocks num_blocks{};  // the null block included, so one less is usable
  std::vector<MemoryLine> derivation;

  Tokens tokens() const { return block_size * num_blocks.value; }
  // How many requests of that length the cache holds at once, as engines print it at start.
  double concurrency(Tokens length) const {
    return static_cast<double>(tokens().value) / static_cast<double>(length.value);
  }
};

// Throws ConfigError when nothing is left for the cache, naming what takes the memory.
KvMemory kv_memory(const MemoryRequest& request);

// The same from a cache size that is known, for example printed by an engine at its start.
KvMemory kv_memory_of(Bytes cache, const MemoryRequest& request);

// Why a request of max_model_len tokens can never fit, naming both numbers; none when it fits.
std::optional<Problem> length_problem(const KvMemory& memory, Tokens max_model_len);

// The derivation, one line each: bytes, name, how.
std::string to_text(const KvMemory& memory);

}  // namespace servetwin
