// `vllm serve` (and the module it starts): flags and defaults as vLLM 0.11 documents them.
#include <algorithm>

#include "engine/base/registry.h"
#include "engine/base/text.h"
#include "scenarios/launch/launch_flags.h"

namespace servetwin {
namespace {

using enum FlagValue;
constexpr const char* kSizes = "engine.graph_sizes";

// Policy, async and eager are no keys: presets and graph sizes come of them.
const std::vector<LaunchFlag> kFlags = {
    {"--model", kOne, "model", text_value},
    {"--tensor-parallel-size -tp", kOne, "layout.tp", count_value},
    {"--pipeline-parallel-size -pp", kOne, "layout.pp", count_value},
    {"--data-parallel-size -dp", kOne, "replicas", count_value},
    {"--max-model-len", kOne, "engine.max_model_len", count_value},
    {"--max-num-seqs", kOne, "engine.max_num_seqs", count_value},
    {"--max-num-batched-tokens", kOne, "engine.max_num_batched_tokens", count_value},
    {"--gpu-memory-utilization", kOne, "engine.memory_fraction", share_value},
    {"--block-size", kOne, "engine.block_size", count_value},
    {"--num-gpu-blocks-override", kOne, "engine.num_blocks", count_value},
    {"--enable-prefix-caching", kNone, "engine.prefix_caching", yes_value},
    {"--no-enable-prefix-caching", kNone, "engine.prefix_caching", no_value},
    {"--enable-chunked-prefill", kNone, "engine.chunked_prefill", yes_value},
    {"--no-enable-chunked-prefill", kNone, "engine.chunked_prefill", no_value},
    {"--long-prefill-token-threshold", kOne, "engine.long_prefill_token_threshold", count_value},
    {"--dtype", kOne, "engine.dtype", dtype_value},
    {"--kv-cache-dtype", kOne, "engine.kv_dtype", dtype_value},
    {"--cuda-graph-sizes --cudagraph-capture-sizes", kMany, kSizes, count_value},
    {"--scheduling-policy", kOne, "policy", text_value},
    {"--async-scheduling", kNone, "async", yes_value},
    {"--no-async-scheduling", kNone, "async", no_value},
    {"--enforce-eager", kNone, "eager", yes_value},
    {"--quantization -q", kOne, "bytes of the weights; give engine.dtype, such as f8e4m3", nullptr},
    {"--speculative-config -sc", kOne, "several tokens a step", nullptr},
    {"--enable-lora --enable-expert-parallel -ep --enable-eplb --enable-dbo", kNone, "step times", nullptr},
    {"--lora-modules", kMany, "which requests share blocks, and step times", nullptr},
    {"--max-loras --cpu-offload-gb --kv-cache-memory-bytes", kOne, "memory for KV blocks", nullptr},
    {"--compilation-config -O --attention-backend --all2all-backend", kOne, "step times", nullptr},
    {"--config --hf-overrides --scheduler-cls --kv-transfer-config --stream-interval", kOne,
     "what stands there, which is not read", nullptr},
    {"--host --port --uds --api-key --root-path --uvicorn-log-level --tokenizer --tokenizer-mode --revision "
     "--download-dir --load-format --config-format --chat-template --response-role --ssl-keyfile "
     "--ssl-certfile --tool-call-parser --reasoning-parser --generation-config --seed --max-logprobs "
     "--distributed-executor-backend --swap-space --prefix-caching-hash-algo --max-num-partial-prefills",
     kOne, "", nullptr},
    {"--served-model-name --middleware --allowed-origins", kMany, "", nullptr},
    {"--trust-remote-code --disable-log-requests --enable-log-requests --disable-log-stats "
     "--enable-auto-tool-choice --disable-uvicorn-access-log",
     kNone, "", nullptr},
};

// Captured up to a largest: 1, 2, 4, 8, then steps of 8 and, from 256 on, of 16.
std::string graph_sizes(std::int64_t last) {
  std::vector<std::string> sizes;
  for (std::int64_t size = 1; size <= last; size += size < 4 ? size : (size < 8 ? 4 : (size < 256 ? 8 : 16)))
    sizes.push_back(format_number(size));
  return "[" + join(sizes, ", ") + "]";
}

class VllmServe final : public LaunchMapping {
 public:
  struct Params {
    template <class Visitor>
    void fields(Visitor& /*v*/) {}
  };
  explicit VllmServe(const Params& /*params*/) {}

  bool is_mine(const std::vector<std::string>& words) const override { return start(words) > 0; }

  LaunchReading read(const Input& input) const override {
    const auto begin = static_cast<std::ptrdiff_t>(start(input.words));
    ReadFlags flags = read_flags(kFlags, {input.words.begin() + begin, input.words.end()});
    LaunchReading& reading = flags.reading;
    reading.mapping = "flags and defaults of vLLM 0.11's serve command, mapping version 1";
    for (const std::string& word : flags.positional) {
      if (find(reading, "model") == nullptr) {
        reading.settings.push_back({"model", *text_value(word), "the model served"});
      } else {
        reading.unknown.push_back(word);
      }
    }
    if (find(reading, "model") == nullptr) reject_launch("no model is named", "vllm serve MODEL ...");
    choose_preset(reading);
    add_defaults(reading, input);
    return std::move(flags.reading);
  }

 private:
  static std::size_t start(const std::vector<std::string>& words) {
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
      const std::string& word = words[i];
      const bool is_program = word == "vllm" || (word.size() > 5 && word.substr(word.size() - 5) == "/vllm");
      if (is_program && words[i + 1] == "serve") return i + 2;
      if (word.find("vllm-openai") != std::string::npos) return i + 1;  // its container
      if (word == "-m" && words[i + 1] == "vllm.entrypoints.openai.api_server") return i + 2;
    }
    return 0;
  }

  static void choose_preset(LaunchReading& reading) {
    const auto policy = take(reading, "policy");
    const auto async = take(reading, "async");
    const bool by_priority = policy && policy->value == "priority";
    if (policy && !by_priority && policy->value != "fcfs")
      reject_launch("--scheduling-policy " + policy->value + " is no policy", "fcfs or priority");
    if (!async || async->value != "true") {
      const std::string preset = by_priority ? "vllm-v1-priority" : "vllm-v1";
      return set(reading, {"engine.preset", preset, policy ? policy->origin : "vLLM's default"});
    }
    set(reading, {"engine.preset", "vllm-v1-async", async->origin});
    if (!by_priority) return;
    set(reading, {"engine.rules.waiting_order", "priority", policy->origin});
    set(reading, {"engine.rules.victim", "least_important", policy->origin});
  }

  // What vLLM chooses by the device: large GPUs, the A100 apart, get larger batches.
  static void add_defaults(LaunchReading& reading, const Input& input) {
    const bool is_large = input.device.memory.value >= std::int64_t{70} << 30 &&
                          input.device_id.find("a100") == std::string::npos;
    const std::string origin = "vLLM's default on this device";
    set(reading, {"engine.max_num_seqs", is_large ? "1024" : "256", origin}, true);
    set(reading, {"engine.max_num_batched_tokens", is_large ? "8192" : "2048", origin}, true);
    set(reading, {"engine.memory_fraction", "0.9", "vLLM's default"}, true);
    if (find(reading, "engine.num_blocks") != nullptr) take(reading, "engine.memory_fraction");
    add_graph_sizes(reading);
  }

  static void add_graph_sizes(LaunchReading& reading) {
    const std::int64_t seqs = std::stoll(find(reading, "engine.max_num_seqs")->value);
    LaunchSetting sizes{kSizes, graph_sizes(std::min<std::int64_t>(2 * seqs, 512)), "vLLM's default"};
    if (const auto given = take(reading, kSizes)) {
      const std::int64_t first = std::stoll(given->value);
      if (first > 65'536) reject_launch(given->origin + " is too large", "65536 is the largest");
      const bool is_list = given->value.find(',') != std::string::npos;
      sizes = {kSizes, is_list ? "[" + given->value + "]" : graph_sizes(first), given->origin};
    }
    if (const auto eager = take(reading, "eager")) sizes = {kSizes, "[]", eager->origin};
    set(reading, sizes);
  }
};

const Registered<LaunchMapping, VllmServe> kVllmServe{"vllm serve", "Flags of vLLM's serve command."};

}  // namespace
}  // namespace servetwin
