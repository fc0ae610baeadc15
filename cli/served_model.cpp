// Reads numbers; the engine checks what they mean for the model.
#include "cli/served_model.h"

#include <fmt/format.h>
#include <limits>

#include "cli/numbers.h"
#include "cli/verb.h"
#include "engine/base/text.h"
#include "engine/base/unit_text.h"
#include "engine/live/kv_pool.h"
#include "scenarios/kv_groups.h"
#include "scenarios/model_source.h"

namespace servetwin {
std::int64_t serve_number(const char* option,
                          const std::string& text,
                          std::int64_t least,
                          std::int64_t most) {
  return whole_option("serve", option, text, {least, most});
}

void ServedModel::declare(Arguments& arguments) {
  arguments.option(
      "--model", "MODEL", model_,
      "The model that answers: a folder with config.json and safetensors, a GGUF file, or a model of "
      "the catalogue whose weights are drawn.");
  arguments.option("--kv-memory", "SIZE", kv_memory_, "Memory for keys and values, such as 512MiB.");
  arguments.option("--num-blocks", "N", num_blocks_,
                   "The same as a number of blocks; one of both is needed.");
  arguments.option("--kv-dtype", "TYPE", kv_dtype_,
                   "Number format of keys and values: f32 (default), f16, bf16, i8 or f8e4m3.");
  arguments.option("--block-size", "N", block_size_, "Tokens in a block; by default 16.");
  arguments.option("--max-model-len", "N", max_model_len_,
                   "Prompt and answer together; by default what model and cache allow.");
  arguments.option("--max-num-seqs", "N", max_num_seqs_, "Requests that run at once; by default 64.");
  arguments.option("--max-num-batched-tokens", "N", max_num_batched_tokens_,
                   "Tokens that a step computes at most; by default 512.");
  arguments.option("--tp", "N", tp_, "Tensor-parallel ranks that share the model; by default 1.");
  layout_.declare(arguments);
  arguments.option("--threads", "N", threads_, "Threads that compute, of each rank; by default 1.");
  arguments.option("--seed", "N", seed_, "Of drawn weights, and of answers without a seed; by default 1.");
}

DType ServedModel::kv_dtype() const {
  const auto type = dtype_from_name(kv_dtype_);
  if (type && is_kv_dtype(*type)) return *type;
  throw UsageError(fmt::format("servetwin serve: --kv-dtype takes {}, not {}", kKvDtypeNames, kv_dtype_));
}

Blocks ServedModel::num_blocks(const LiveEngineOptions& options) const {
  constexpr std::int64_t kMost = std::int64_t{1} << 24U;
  if (num_blocks_.empty() == kv_memory_.empty()) {
    throw UsageError(
        "servetwin serve: --model needs the memory of its KV cache: either --kv-memory SIZE or --num-blocks "
        "N");
  }
  if (kv_memory_.empty()) return Blocks{serve_number("--num-blocks", num_blocks_, 2, kMost)};
  const auto memory = parse_bytes(kv_memory_);
  const ModelSpec spec = named_model(model_);
  const KvGroups groups = windowed_groups(spec, Tokens{spec.max_position});
  const Bytes one = KvPool::bytes(spec, Blocks{1}, options.engine.block_size, options.kv_dtype, groups.layout,
                                  options.ranks) *
                    options.ranks;
  if (memory && *memory.value >= one * 2 && *memory.value / one <= kMost) return Blocks{*memory.value / one};
  throw UsageError(
      fmt::format("servetwin serve: --kv-memory takes a size such as 512MiB, at least {} for two "
                  "blocks of this model, not {}",
                  format_bytes(one * 2), kv_memory_));
}

LiveEngineOptions ServedModel::options(const std::string& name) const {
  LiveEngineOptions options;
  options.model = model_;
  options.name = name;
  options.ranks = static_cast<int>(serve_number("--tp", tp_, 1, 64));
  options.layout = layout_.layout();
  if (options.ranks == 1 && options.layout.sequence_parallel)
    throw UsageError(
        "servetwin serve: one rank has nobody to share tokens or experts with: give --tp 2 or more");
  options.threads = static_cast<int>(serve_number("--threads", threads_, 1, 256));
  options.seed =
      static_cast<std::uint64_t>(serve_number("--seed", seed_, 0, std::numeric_limits<std::int64_t>::max()));
  EngineConfig& engine = options.engine;
  engine.block_size = Tokens{serve_number("--block-size", block_size_, 1, 1024)};
  engine.max_num_seqs = serve_number("--max-num-seqs", max_num_seqs_, 1, 65'536);
  engine.max_num_batched_tokens =
      Tokens{serve_number("--max-num-batched-tokens", max_num_batched_tokens_, 1, 1 << 20)};
  if (!max_model_len_.empty()) {
    engine.max_model_len = Tokens{serve_number("--max-model-len", max_model_len_, 2, std::int64_t{1} << 32U)};
  }
  options.kv_dtype = kv_dtype();
  engine.num_blocks = num_blocks(options);
  return options;
}

std::string ServedModel::describe(const LiveEngine& engine) {
  const EngineConfig& config = engine.engine();
  const ModelSpec& model = engine.model();
  const KvLayout layout = windowed_groups(model, Tokens{model.max_position}).layout;
  const Bytes memory =
      KvPool::bytes(model, config.num_blocks, config.block_size, engine.kv_dtype(), layout, engine.ranks()) *
      engine.ranks();
  const std::int64_t tokens = (config.num_blocks.value - 1) / layout.tables() * config.block_size.value;
  return fmt::format(
      "{}: {} parameters; KV cache {} blocks of {} tokens in {}, {}: {} tokens; up to {} tokens a "
      "request\n",
      engine.card().root, format_grouped(parameter_count(engine.model())),
      format_grouped(config.num_blocks.value), config.block_size.value, name_of(engine.kv_dtype()),
      format_bytes(memory), format_grouped(tokens), format_grouped(config.max_model_len.value));
}

}  // namespace servetwin
