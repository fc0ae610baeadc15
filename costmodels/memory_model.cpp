// Subtracts what weights, a step and the runtime take; docs/cost-models.md compares it with a real engine's
// counts.
#include "costmodels/memory_model.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "engine/base/text.h"
#include "engine/base/unit_text.h"

namespace servetwin {
namespace {

constexpr Bytes kContext{std::int64_t{512} << 20};

// Exact for fractions of up to six decimals, which a product of doubles is not.
Bytes share_of(Bytes whole, double fraction) {
  constexpr std::int64_t kMillion = 1'000'000;
  const auto millionths = static_cast<std::int64_t>(fraction * static_cast<double>(kMillion) + 0.5);
  const std::int64_t rest = whole.value % kMillion * millionths / kMillion;
  return Bytes{whole.value / kMillion * millionths + rest};
}

// In 16 bits: residual and hidden state, gate and up together, their product; each chosen expert has its own.
Bytes layers_peak(const MemoryRequest& request) {
  const ModelSpec& m = *request.model;
  std::int64_t inside = 3 * ceil_div(m.intermediate, request.tp);
  if (m.is_moe()) {
    const std::int64_t width = ceil_div(m.moe.intermediate, request.tp);
    const std::int64_t routed = m.moe.top_k * (std::max(2 * width, m.hidden) + width);
    inside = std::max(m.moe.first_dense_layers > 0 ? inside : 0, routed + 3 * width * m.moe.shared_experts);
  }
  return Bytes{request.max_batched_tokens.value * 2 * (2 * m.hidden + inside)};
}

// The hidden states of all tokens are still there while the rows are sampled.
Bytes sampling_peak(const MemoryRequest& request) {
  const ModelSpec& m = *request.model;
  const auto logit = static_cast<std::int64_t>(request.engine.sampler_logit_bytes + 0.5);
  return Bytes{request.max_batched_tokens.value * 2 * m.hidden + request.max_sequences * m.vocab * logit};
}

std::string activation_how(const MemoryRequest& request) {
  const std::string tokens =
      "estimated: " + format_grouped(request.max_batched_tokens.value) + " tokens * 2 ";
  if (layers_peak(request) > sampling_peak(request)) return tokens + "bytes of a layer's states";
  return tokens + "hidden + " + format_grouped(request.max_sequences) + " rows * vocab * " +
         format_number(request.engine.sampler_logit_bytes) + ", sampled together";
}

// Cosine and sine of each position.
Bytes rotary_table(const ModelSpec& m) {
  const std::int64_t width = m.is_mla() ? m.mla.qk_rope_head_dim : m.head_dim;
  return Bytes{m.max_position * width * 2};
}

class Account {
 public:
  Account(const MemoryRequest& request, KvMemory& memory) : request_(request), memory_(memory) {}

  void fill() {
    const MemoryOptions& options = request_.options;
    const std::string ranks = request_.tp > 1 ? ", one of " + std::to_string(request_.tp) + " ranks" : "";
    add("device", request_.device_memory, "as the driver reports it");
    const Bytes weights = use(
        "weights", options.weights, weight_bytes(*request_.model, request_.dtype, request_.tp),
        format_grouped(parameter_count(*request_.model)) + " parameters, " + name_of(request_.dtype) + ranks);
    const Bytes others =
        use("activations", options.activations, std::max(layers_peak(request_), sampling_peak(request_)),
            activation_how(request_)) +
        rotary() + use("context", options.context, context(), context_how()) +
        use("graphs", options.graphs, Bytes{0}, "assumed: captured in what the fraction leaves free");
    memory_.cache = cache(weights, others);
    if (memory_.cache < Bytes{0})
      refuse("is " + format_bytes(Bytes{0} - memory_.cache) + " short of what lies beside the KV cache");
    add("kv_cache", memory_.cache, cache_how());
    if (memory_.cache < memory_.per_block * 2)
      refuse("leaves " + format_bytes(memory_.cache) + " for the KV cache");
  }

 private:
  // Part of the weights where those are stated.
  Bytes rotary() {
    if (request_.options.weights) return Bytes{0};
    const Bytes bytes = rotary_table(*request_.model);
    add("rotary", bytes, format_grouped(request_.model->max_position) + " positions, 16 bits");
    return bytes;
  }

  // An engine that counts what it adds itself began to count behind driver and context.
  bool counts_itself() const { return request_.options.of == FractionOf::kTotal; }
  Bytes context() const { return counts_itself() ? request_.engine.runtime : kContext; }
  const char* context_how() const {
    return counts_itself() ? "the engine's: kernels and runtime" : "assumed: driver and CUDA context";
  }

  Bytes use(const char* name, const std::optional<Bytes>& stated, Bytes estimate, const std::string& how) {
    const Bytes bytes = stated.value_or(estimate);
    add(name, bytes, stated ? "as stated" : how);
    return bytes;
  }

  void add(const char* name, Bytes bytes, std::string how) {
    memory_.derivation.push_back({name, bytes, std::move(how)});
  }

  Bytes cache(Bytes weights, Bytes others) const {
    const Bytes total = request_.device_memory;
    const double fraction = request_.options.fraction;
    switch (request_.options.of) {
      case FractionOf::kTotal:
        return share_of(total, fraction) - weights - others;
      case FractionOf::kFree:
        return weights + others < total ? share_of(total - weights - others, fraction) : Bytes{0};
      case FractionOf::kStatic:
        break;
    }
    const Bytes left = total - share_of(total, fraction);
    if (left < others) {
      refuse("leaves " + format_bytes(left) + " for activations, context and graphs, which take " +
             format_bytes(others));
    }
    return share_of(total, fraction) - weights;
  }

  std::string cache_how() const {
    const std::string fraction = format_number(request_.options.fraction);
    switch (request_.options.of) {
      case FractionOf::kTotal:
        return fraction + " of the device - weights - activations - context - graphs (as vLLM)";
      case FractionOf::kFree:
        return fraction + " of (device - weights - activations - context - graphs) (as TensorRT-LLM)";
      case FractionOf::kStatic:
        break;
    }
    return fraction + " of the device - weights (as SGLang)";
  }

  [[noreturn]] void refuse(const std::string& consequence) const {
    throw ConfigError(Problem{kCodeInconsistent,
                              {},
                              "spec.engine.memory_fraction",
                              format_number(request_.options.fraction) + " of " +
                                  format_bytes(request_.device_memory) + " " + consequence + "\n" +
                                  to_text(memory_),
                              "use a larger fraction, more ranks (tp), a smaller dtype or a larger device"});
  }

  const MemoryRequest& request_;
  KvMemory& memory_;
};

KvMemory sized(const MemoryRequest& request) {
  KvMemory memory;
  memory.block_size = request.block_size;
  ModelSpec held = *request.model;
  if (request.layers_per_block > 0) held.layers = request.layers_per_block;
  const Bytes elements = kv_bytes_per_token(held, request.kv_dtype, request.tp);
  memory.per_block = request.token_in_block.value_or(elements) * request.block_size.value;
  return memory;
}

void count_blocks(const MemoryRequest& request, KvMemory& memory) {
  const std::int64_t layers = request.model->layers;
  const bool is_part = request.layers_per_block > 0 && request.layers_per_block < layers;
  const std::string part = is_part ? " in " + std::to_string(request.layers_per_block) + " of " +
                                         std::to_string(layers) + " layers"
                                   : "";
  memory.num_blocks = Blocks{memory.cache / memory.per_block};
  memory.derivation.push_back({"block", memory.per_block,
                               std::to_string(memory.block_size.value) + " tokens" + part +
                                   "; the cache holds " + format_grouped(memory.num_blocks.value) +
                                   ", the null block included"});
}

}  // namespace

KvMemory kv_memory(const MemoryRequest& request) {
  KvMemory memory = sized(request);
  Account(request, memory).fill();
  count_blocks(request, memory);
  return memory;
}

KvMemory kv_memory_of(Bytes cache, const MemoryRequest& request) {
  KvMemory memory = sized(request);
  memory.cache = cache;
  memory.derivation.push_back({"kv_cache", cache, "as stated"});
  count_blocks(request, memory);
  return memory;
}

std::optional<Problem> length_problem(const KvMemory& memory, Tokens max_model_len) {
  if (max_model_len <= memory.tokens()) return std::nullopt;
  return Problem{
      kCodeInconsistent,
      {},
      "spec.engine.max_model_len",
      std::to_string(max_model_len.value) + " tokens exceed the " + std::to_string(memory.tokens().value) +
          " that " + std::to_string(memory.num_blocks.value) + " KV blocks hold",
      "lower max_model_len to " + std::to_string(memory.tokens().value) + " or raise memory_fraction"};
}

std::string to_text(const KvMemory& memory) {
  constexpr std::size_t kNameWidth = 12;
  constexpr std::size_t kBytesWidth = 18;
  std::string text;
  for (const MemoryLine& line : memory.derivation) {
    const std::string bytes = format_grouped(line.bytes.value);
    text += line.name + std::string(kNameWidth - line.name.size(), ' ');
    text += std::string(bytes.size() < kBytesWidth ? kBytesWidth - bytes.size() : 0, ' ') + bytes;
    text += "  " + line.how + '\n';
  }
  return text;
}

}  // namespace servetwin
