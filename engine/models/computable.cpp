// A family is known by its architecture; what a model asks for beyond it was found when its files were read.
#include "engine/models/computable.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace servetwin {
namespace {

// A family and what its published code has beyond a dense decoder with full attention.
struct Family {
  std::string_view arch;
  bool has_windows = false;
  bool has_head_norms = false;
  bool has_experts = false;
  bool is_latent = false;
};

constexpr std::array kFamilies = {
    Family{"LlamaForCausalLM"},
    Family{"Qwen2ForCausalLM", true},
    Family{"Qwen3ForCausalLM", true, true},
    Family{"Qwen3MoeForCausalLM", true, true, true},
    Family{"MistralForCausalLM", true},
    Family{"MixtralForCausalLM", true, false, true},
    Family{"Phi3ForCausalLM", true},
    Family{"Gemma3ForCausalLM", true, true},
    Family{"DeepseekV2ForCausalLM", false, false, true, true},
    Family{"DeepseekV3ForCausalLM", false, false, true, true},
};

}  // namespace

const char* const kComputedFamilies =
    "Llama, Qwen2, Qwen3 (with experts too), Mistral, Mixtral, Phi-3, Gemma 3 (text), DeepSeek-V2 and V3 run";

std::string why_not_computed(const ModelSpec& spec) {
  const auto family = std::find_if(kFamilies.begin(), kFamilies.end(),
                                   [&](const Family& one) { return one.arch == spec.arch; });
  if (family == kFamilies.end()) return "architecture " + spec.arch + " is not supported yet";
  if (!spec.not_computed.empty()) return spec.not_computed;
  const auto foreign = [&](const char* what) { return std::string(what) + " are no part of " + spec.arch; };
  if (spec.sliding_window && !family->has_windows) return foreign("sliding windows");
  if (spec.qk_norm != family->has_head_norms) {
    return spec.qk_norm ? foreign("norms of queries and keys") : "its norms of queries and keys are missing";
  }
  if (spec.is_moe() && !family->has_experts) return foreign("experts");
  if (spec.is_mla() != family->is_latent) {
    return spec.is_mla() ? foreign("latent vectors") : "its latent vectors are missing";
  }
  if (spec.activation == Activation::kOther) return "its activation is not computed";
  if (spec.rope.type == RopeType::kOther) return "rope_type " + spec.rope.type_name + " is not known";
  return "";
}

}  // namespace servetwin
