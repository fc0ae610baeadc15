// Metadata keys begin with the architecture: llama.block_count, qwen2.block_count, …
#include "engine/models/checkpoints/gguf_spec.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>

#include "engine/base/dequantise.h"
#include "engine/base/det_math.h"
#include "engine/base/error.h"
#include "engine/base/params.h"
#include "engine/base/text.h"
#include "engine/models/checkpoints/model_error.h"

namespace servetwin {
namespace {

constexpr std::int64_t kMaxCount = 1'000'000'000;

struct Family {
  const char* gguf;
  const char* dense;    // the Hugging Face architecture
  const char* experts;  // the same with routed experts; null where there is none
};
constexpr std::array kFamilies = {
    Family{"llama", "LlamaForCausalLM", "MixtralForCausalLM"},
    Family{"qwen2", "Qwen2ForCausalLM", nullptr},
    Family{"qwen3", "Qwen3ForCausalLM", nullptr},
    Family{"qwen3moe", nullptr, "Qwen3MoeForCausalLM"},
    Family{"gemma3", "Gemma3ForCausalLM", nullptr},
    Family{"phi3", "Phi3ForCausalLM", nullptr},
    Family{"deepseek2", nullptr, "DeepseekV3ForCausalLM"},
};

class SpecReader {
 public:
  explicit SpecReader(const GgufFile& gguf) : gguf_(gguf), metadata_(gguf.metadata) {}

  ModelSpec read() {
    read_family();
    model_.name = metadata_.file();
    model_.layers = required("block_count");
    model_.hidden = required("embedding_length");
    model_.max_position = required("context_length");
    model_.intermediate = count("feed_forward_length", 0);
    model_.norm_epsilon = positive("attention.layer_norm_rms_epsilon", 1e-5);
    model_.vocab = vocabulary();
    model_.tied_embeddings = !has("output.weight");
    model_.qkv_bias = has("blk.0.attn_q.bias") || has("blk.0.attn_qkv.bias");
    model_.qk_norm = has("blk.0.attn_q_norm.weight");
    if (const std::int64_t window = count("attention.sliding_window", 0); window > 0)
      model_.sliding_window = window;
    read_attention();
    read_experts();
    read_rope();
    if (is_arch("gemma3")) read_gemma();
    model_.dtype = main_dtype();
    const std::string problem = problem_of(model_);
    if (!problem.empty()) fail(kCodeInconsistent, "", problem);
    return model_;
  }

 private:
  [[noreturn]] void fail(const char* code,
                         const std::string& key,
                         std::string message,
                         std::string remedy = "") const {
    fail_model(metadata_.file(), key, {code, std::move(message), std::move(remedy)});
  }

  bool is_arch(const char* name) const { return prefix_ == std::string(name) + '.'; }
  bool has(const char* tensor) const { return gguf_.checkpoint.find(tensor) != nullptr; }
  std::string key(const char* name) const { return prefix_ + name; }

  // Of a value for all layers; a list is taken when all its values are equal.
  std::optional<std::int64_t> integer(const char* name) const {
    const auto found = metadata_.values().find(key(name));
    if (found == metadata_.values().end() ||
        !std::holds_alternative<std::vector<std::int64_t>>(found->second)) {
      return metadata_.integer(key(name));
    }
    const auto& list = std::get<std::vector<std::int64_t>>(found->second);
    if (list.empty()) fail(kCodeBadValue, key(name), "is an empty list");
    const bool is_uniform =
        std::all_of(list.begin(), list.end(), [&](auto value) { return value == list.front(); });
    if (!is_uniform) fail(kModelFamily, key(name), "differs from layer to layer, which is not supported");
    return list.front();
  }

  std::int64_t count(const char* name, std::int64_t absent) const {
    const auto value = integer(name);
    if (!value) return absent;
    const bool in_range = *value >= 0 && *value <= kMaxCount;
    if (!in_range)
      fail(kCodeOutOfRange, key(name), "is " + std::to_string(*value), "a count from 0 to 1,000,000,000");
    return *value;
  }

  std::int64_t required(const char* name) const {
    if (!integer(name))
      fail(kCodeMissing, key(name), "is missing", "a GGUF file of this architecture has it");
    return count(name, 0);
  }

  double positive(const char* name, double absent) const {
    const auto value = metadata_.number(key(name));
    if (!value) return absent;
    const bool in_range = *value > 0 && *value <= 1e12;
    if (!in_range) {
      fail(kCodeOutOfRange, key(name), "is " + format_number(*value), "a number above 0, at most 1e12");
    }
    return *value;
  }

  void read_family() {
    const std::string* name = metadata_.text("general.architecture");
    if (name == nullptr) fail(kCodeMissing, "general.architecture", "is missing", "every GGUF model has it");
    const auto family = std::find_if(kFamilies.begin(), kFamilies.end(),
                                     [&](const Family& one) { return *name == one.gguf; });
    if (family == kFamilies.end()) {
      fail(kModelFamily, "general.architecture", "architecture \"" + printable(*name) + "\" is not supported",
           "supported are " + join(gguf_architectures(), ", "));
    }
    prefix_ = *name + '.';
    const bool has_experts = count("expert_count", 0) > 0;
    const char* arch = has_experts ? family->experts : family->dense;
    if (arch == nullptr) {
      fail(kModelFamily, key("expert_count"),
           *name + (has_experts ? " with" : " without") + " routed experts is not supported");
    }
    model_.arch = arch;
  }

  std::int64_t vocabulary() const {
    const TensorInfo* embedding = gguf_.checkpoint.find("token_embd.weight");
    const std::vector<std::string>* tokens = metadata_.texts("tokenizer.ggml.tokens");
    std::int64_t vocab = count("vocab_size", 0);
    if (vocab == 0 && tokens != nullptr) vocab = static_cast<std::int64_t>(tokens->size());
    if (vocab == 0 && embedding != nullptr) vocab = num_rows(embedding->shape);
    if (vocab == 0)
      fail(kCodeMissing, key("vocab_size"), "is missing, and there are no tokens and no embedding");
    return vocab;
  }

  void read_attention() {
    model_.heads = required("attention.head_count");
    model_.kv_heads = count("attention.head_count_kv", model_.heads);
    model_.mla.kv_lora_rank = count("attention.kv_lora_rank", 0);
    if (model_.is_mla()) return read_latent_attention();
    model_.head_dim = count("attention.key_length", 0);
    if (model_.head_dim == 0 && model_.heads > 0) {
      if (model_.hidden % model_.heads != 0) {
        fail(kCodeInconsistent, key("attention.head_count"),
             std::to_string(model_.heads) + " heads do not divide embedding_length " +
                 std::to_string(model_.hidden) + ", and there is no attention.key_length");
      }
      model_.head_dim = model_.hidden / model_.heads;
    }
    const std::int64_t values = count("attention.value_length", model_.head_dim);
    if (values != model_.head_dim) {
      fail(kModelFamily, key("attention.value_length"),
           "is " + std::to_string(values) + " with keys of " + std::to_string(model_.head_dim) +
               "; different lengths are not supported");
    }
    const std::int64_t rotated = count("rope.dimension_count", model_.head_dim);
    model_.rope.rotated_dim = rotated;
    if (rotated != model_.head_dim && !is_arch("phi3")) {
      fail(kModelFamily, key("rope.dimension_count"),
           "is " + std::to_string(rotated) + " of heads of " + std::to_string(model_.head_dim) +
               "; partly rotated heads are not supported");
    }
  }

  // Newer files state the lengths of the absorbed form in key_length and the others in key_length_mla; there
  // the cache is one head for all.
  void read_latent_attention() {
    MlaSpec& mla = model_.mla;
    mla.q_lora_rank = count("attention.q_lora_rank", 0);
    mla.qk_rope_head_dim = required("rope.dimension_count");
    const bool is_absorbed = integer("attention.key_length_mla").has_value();
    const std::int64_t keys = required(is_absorbed ? "attention.key_length_mla" : "attention.key_length");
    mla.v_head_dim = required(is_absorbed ? "attention.value_length_mla" : "attention.value_length");
    mla.qk_nope_head_dim = keys - mla.qk_rope_head_dim;
    if (mla.qk_nope_head_dim <= 0) {
      fail(kCodeInconsistent, key("attention.key_length"),
           "is " + std::to_string(keys) + ", of which " + std::to_string(mla.qk_rope_head_dim) +
               " are rotated");
    }
    model_.head_dim = keys;
    model_.kv_heads = model_.heads;
  }

  void read_experts() {
    MoeSpec& moe = model_.moe;
    moe.num_experts = count("expert_count", 0);
    if (!model_.is_moe()) return;
    moe.top_k = required("expert_used_count");
    moe.intermediate = count("expert_feed_forward_length", model_.intermediate);
    moe.shared_experts = count("expert_shared_count", 0);
    moe.first_dense_layers = count("leading_dense_block_count", 0);
    moe.renormalised = true;
    if (!is_arch("deepseek2")) return;
    model_.not_computed = "a DeepSeek model in GGUF, which splits its latent matrices, is not supported yet";
    moe.renormalised = metadata_.flag(key("expert_weights_norm")).value_or(false);
    moe.factor = positive("expert_weights_scale", 1);
    moe.sigmoid = count("expert_gating_func", 1) == 2;
    moe.groups = std::max<std::int64_t>(1, count("expert_group_count", 1));
    moe.top_groups = std::max<std::int64_t>(1, count("expert_group_used_count", 1));
  }

  // The published models' figures, where their files leave them out: one layer in six sees everything, and
  // scores are scaled by the head's length but for the largest model.
  void read_gemma() {
    constexpr std::int64_t kLayersOfLargest = 62;
    const std::int64_t period = count("attention.sliding_window_pattern", 6);
    for (std::int64_t layer = 0; layer < model_.layers && model_.sliding_window; ++layer) {
      model_.full_attention.push_back(period > 0 && (layer + 1) % period == 0);
    }
    const bool is_largest = model_.layers == kLayersOfLargest;
    const std::int64_t scaled = is_largest ? model_.hidden / model_.heads : model_.head_dim;
    model_.attention_scale = 1 / std::sqrt(static_cast<double>(scaled));
    model_.embedding_scale = std::sqrt(static_cast<double>(model_.hidden));
    model_.rope.local_theta = positive("rope.freq_base_swa", 10'000);
    model_.attention_soft_cap = positive("attn_logit_softcapping", 0);
    model_.logit_soft_cap = positive("final_logit_softcapping", 0);
    model_.sandwich_norms = true;
    model_.norm_plus_one = true;
    model_.activation = Activation::kGeluTanh;
  }

  void read_rope() {
    RopeSpec& rope = model_.rope;
    rope.theta = positive("rope.freq_base", rope.theta);
    const std::string* type = metadata_.text(key("rope.scaling.type"));
    if (type != nullptr && *type != "none") {
      rope.type_name = *type;
      rope.type = *type == "linear" ? RopeType::kLinear
                  : *type == "yarn" ? RopeType::kYarn
                                    : RopeType::kOther;
      if (rope.type == RopeType::kOther) {
        fail(kModelFamily, key("rope.scaling.type"), "\"" + printable(*type) + "\" is not supported",
             "none, linear and yarn are");
      }
      rope.factor = positive("rope.scaling.factor", 1);
      rope.original_max_position = positive("rope.scaling.original_context_length", 0);
    }
    const TensorInfo* divisors = gguf_.checkpoint.find("rope_freqs.weight");
    if (divisors != nullptr) read_llama3_rope(*divisors);
    if (has("rope_factors_long.weight") || has("rope_factors_short.weight")) {
      fail(kModelFamily, "rope_factors_long.weight", "longrope is not supported");
    }
  }

  // Llama 3's rule reaches GGUF as one divisor a pair of dimensions. It is taken back from the last one,
  // which is the factor, with the figures that all published models share, and must give all others.
  void read_llama3_rope(const TensorInfo& info) {
    const std::int64_t pairs = model_.head_dim / 2;
    if (info.dtype != DType::kF32 || info.shape != Shape{pairs}) {
      fail(kTensorShape, info.name,
           "is " + to_string(info.shape) + " of " + name_of(info.dtype) + ", not " + std::to_string(pairs) +
               " values of f32");
    }
    std::vector<float> divisors(static_cast<std::size_t>(pairs));
    dequantise(info.dtype, gguf_.checkpoint.view(info).bytes, divisors);
    RopeSpec& rope = model_.rope;
    rope.factor = static_cast<double>(divisors.back());
    rope.original_max_position = 8192;
    rope.low_freq_factor = 1;
    rope.high_freq_factor = 4;
    for (std::int64_t pair = 0; pair < pairs; ++pair) {
      const double expected = llama3_divisor(pair);
      const double found = static_cast<double>(divisors[static_cast<std::size_t>(pair)]);
      const double difference = expected > found ? expected - found : found - expected;
      const bool is_near = difference <= 1e-4 * expected;  // false for NaN
      if (is_near) continue;
      fail(kModelFamily, info.name,
           "value " + std::to_string(pair) + " is " + format_number(found) +
               ", by Llama 3's rule for a factor of " + format_number(rope.factor) + " it is " +
               format_number(expected));
    }
    rope.type = RopeType::kLlama3;
    rope.type_name = "llama3";
  }

  double llama3_divisor(std::int64_t pair) const {
    constexpr double kTwoPi = 6.283185307179586;
    const RopeSpec& rope = model_.rope;
    const double exponent = 2.0 * static_cast<double>(pair) / static_cast<double>(model_.head_dim);
    const double turns = rope.original_max_position / (kTwoPi * det_pow(rope.theta, exponent));
    if (turns < rope.low_freq_factor) return rope.factor;
    if (turns > rope.high_freq_factor) return 1;
    const double keep = (turns - rope.low_freq_factor) / (rope.high_freq_factor - rope.low_freq_factor);
    return 1 / ((1 - keep) / rope.factor + keep);
  }

  // The format that most bytes of the matrices are in.
  DType main_dtype() const {
    std::map<DType, std::uint64_t> bytes;
    for (const TensorInfo& tensor : gguf_.checkpoint.tensors()) {
      if (tensor.shape.size() > 1 && tensor.name.rfind("blk.", 0) == 0) bytes[tensor.dtype] += tensor.size;
    }
    DType main = DType::kF32;
    std::uint64_t most = 0;
    for (const auto& [dtype, size] : bytes) {
      if (size > most) std::tie(main, most) = std::pair(dtype, size);
    }
    return main;
  }

  const GgufFile& gguf_;
  const GgufMetadata& metadata_;
  std::string prefix_;
  ModelSpec model_;
};

}  // namespace

ModelSpec gguf_model_spec(const GgufFile& gguf) { return SpecReader(gguf).read(); }

std::vector<std::string> gguf_architectures() {
  std::vector<std::string> names;
  for (const Family& family : kFamilies) names.emplace_back(family.gguf);
  return names;
}

}  // namespace servetwin
