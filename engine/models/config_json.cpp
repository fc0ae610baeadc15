// The fields of config.json that decide shapes, under the several names that model families use for them.
#include "engine/models/config_json.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <system_error>
#include <vector>

#include "engine/base/det_math.h"
#include "engine/base/error.h"
#include "engine/base/params.h"
#include "engine/models/config_reader.h"

namespace servetwin {
namespace {

using Json = nlohmann::json;

constexpr int kMaxDepth = 64;
constexpr std::uintmax_t kMaxConfigBytes = 16U << 20U;

[[noreturn]] void fail(const std::string& file,
                       const char* code,
                       std::string message,
                       std::string remedy = "",
                       std::string path = "") {
  throw ConfigError(
      Problem{code, SourcePlace{file, 0, 0}, std::move(path), std::move(message), std::move(remedy)});
}

// A parser that recurses, or a destructor that does, must not meet a value of any depth.
void check_depth(const std::string& text, const std::string& file) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      if (++depth > kMaxDepth)
        fail(file, kCodeBadValue, "is nested deeper than " + std::to_string(kMaxDepth));
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
}

using Reader = ConfigReader;

bool is_family(const ModelSpec& model, const char* beginning) { return model.arch.rfind(beginning, 0) == 0; }

void read_attention(const Reader& in, ModelSpec& model) {
  model.heads = in.required({"num_attention_heads"});
  model.kv_heads = in.count({"num_key_value_heads"}, model.heads);
  model.head_dim = in.count({"head_dim"}, is_family(model, "Gemma3")   ? 256
                                          : is_family(model, "GptOss") ? 64
                                                                       : 0);
  if (model.head_dim == 0 && model.heads > 0) {
    if (model.hidden % model.heads != 0) {
      fail(in.file(), kCodeInconsistent,
           "hidden_size " + std::to_string(model.hidden) + " is no multiple of num_attention_heads " +
               std::to_string(model.heads) + " and there is no head_dim",
           "state head_dim");
    }
    model.head_dim = model.hidden / model.heads;
  }
  model.mla.kv_lora_rank = in.count({"kv_lora_rank"}, 0);
  model.mla.q_lora_rank = in.count({"q_lora_rank"}, 0);
  if (!model.is_mla()) return;
  model.mla.qk_rope_head_dim = in.required({"qk_rope_head_dim"});
  model.mla.qk_nope_head_dim = in.required({"qk_nope_head_dim"});
  model.mla.v_head_dim = in.required({"v_head_dim"});
}

void read_experts(const Reader& in, ModelSpec& model) {
  model.moe.num_experts = in.count({"num_experts", "n_routed_experts", "num_local_experts"}, 0);
  if (!model.is_moe()) return;
  model.moe.top_k = in.required({"num_experts_per_tok", "top_k_experts", "experts_per_token"});
  model.moe.intermediate = in.count({"moe_intermediate_size"}, model.intermediate);
  model.moe.shared_experts = in.count({"n_shared_experts"}, 0);
  model.moe.first_dense_layers = in.count({"first_k_dense_replace"}, 0);
  model.moe.renormalised = in.flag("norm_topk_prob", is_family(model, "Mixtral"));
  model.moe.factor = in.number({"routed_scaling_factor"}, 1);
  const std::string method = in.text({"topk_method"});
  model.moe.sigmoid = is_family(model, "DeepseekV3") || method == "noaux_tc";
  if (method != "greedy") {
    model.moe.groups = in.count({"n_group"}, 1);
    model.moe.top_groups = in.count({"topk_group"}, 1);
  }
  const auto refuse = [&](const std::string& what) { model.not_computed = what + " is not computed"; };
  const bool is_known =
      method.empty() || method == "greedy" || method == "group_limited_greedy" || method == "noaux_tc";
  if (!is_known) refuse("topk_method " + method);
  const std::string scores = in.text({"scoring_func"});
  if (!scores.empty() && scores != (model.moe.sigmoid ? "sigmoid" : "softmax")) {
    refuse("scoring_func " + scores + " with topk_method " + (method.empty() ? "none" : method));
  }
  if (is_family(model, "DeepseekV2") && model.moe.renormalised) refuse("norm_topk_prob of DeepSeek-V2");
  if (in.count({"decoder_sparse_step", "moe_layer_freq"}, 1) != 1)
    refuse("a step between layers with experts");
  if (!in.list("mlp_only_layers").empty()) refuse("a list of layers without experts");
}

// Layers that see all keys although the model has a window.
std::vector<bool> full_layers(const Reader& in, const ModelSpec& model) {
  std::vector<bool> full;
  for (const Json& type : in.list("layer_types")) {
    const bool is_known = type == "full_attention" || type == "sliding_attention";
    if (!is_known) {
      fail(in.file(), kCodeUnknownName, "has " + type.dump(), "full_attention or sliding_attention",
           "layer_types");
    }
    full.push_back(type == "full_attention");
  }
  if (!full.empty()) {
    if (static_cast<std::int64_t>(full.size()) == model.layers) return full;
    fail(in.file(), kCodeInconsistent,
         "has " + std::to_string(full.size()) + " entries for " + std::to_string(model.layers) + " layers",
         "", "layer_types");
  }
  const bool is_gemma = is_family(model, "Gemma3");
  const bool has_lower = is_family(model, "Qwen2For") || is_family(model, "Qwen3For");
  const std::int64_t period = in.count({"sliding_window_pattern"}, 6);
  const std::int64_t lower = in.count({"max_window_layers"}, 28);
  for (std::int64_t layer = 0; layer < model.layers && (is_gemma || has_lower); ++layer) {
    full.push_back(is_gemma ? period > 0 && (layer + 1) % period == 0 : layer < lower);
  }
  return full;
}

bool sees_all(const ModelSpec& model) {
  return !model.full_attention.empty() &&
         std::all_of(model.full_attention.begin(), model.full_attention.end(),
                     [](bool full) { return full; });
}

void read_window(const Reader& in, ModelSpec& model) {
  const bool is_gpt_oss = is_family(model, "GptOss");
  const std::int64_t window = in.count({"sliding_window"}, is_gpt_oss && !in.has("sliding_window") ? 128 : 0);
  const bool is_used = in.flag("use_sliding_window", !is_family(model, "Qwen"));
  if (is_gpt_oss) model.full_attention = full_layers(in, model);
  if (is_gpt_oss && window == 0 && !sees_all(model)) {
    fail(in.file(), kCodeInconsistent, "is null or 0, and layers are of sliding_attention",
         "state a window, or layer_types of full_attention", "sliding_window");
  }
  if (window == 0 || !is_used) return;
  model.sliding_window = window;
  model.full_attention = full_layers(in, model);
}

Activation activation(const std::string& name) {
  if (name.empty() || name == "silu" || name == "swish") return Activation::kSilu;
  return name == "gelu_pytorch_tanh" ? Activation::kGeluTanh : Activation::kOther;
}

// The figures that Gemma 3's configurations leave out are the family's.
void read_gemma(const Reader& in, ModelSpec& model) {
  model.qk_norm = true;
  model.sandwich_norms = true;
  model.norm_plus_one = true;
  model.embedding_scale = std::sqrt(static_cast<double>(model.hidden));
  model.attention_scale = 1 / std::sqrt(in.number({"query_pre_attn_scalar"}, 256));
  model.rope.theta = 1'000'000;
  model.rope.local_theta = in.number({"rope_local_base_freq"}, 10'000);
  model.norm_epsilon = 1e-6;
  if (in.flag("use_bidirectional_attention", false))
    model.not_computed = "attention in both directions is not computed";
}

void read_details(const Reader& in, ModelSpec& model) {
  model.qkv_bias = in.flag("attention_bias", is_family(model, "Qwen2"));
  model.qk_norm = is_family(model, "Qwen3");
  const bool is_gemma = is_family(model, "Gemma3");
  const std::string name = in.text({"hidden_activation", "hidden_act"});
  model.activation = activation(name.empty() && is_gemma ? "gelu_pytorch_tanh" : name);
  if (model.activation == Activation::kOther) model.not_computed = "activation " + name + " is not computed";
  if (in.flag("mlp_bias", false)) model.not_computed = "mlp_bias is not computed";
  model.attention_soft_cap = in.number({"attn_logit_softcapping"}, 0);
  model.logit_soft_cap = in.number({"final_logit_softcapping"}, 0);
  if (is_gemma) read_gemma(in, model);
  read_window(in, model);
  const std::string dtype = in.text({"torch_dtype", "dtype"});
  if (dtype.empty()) return;
  const auto known = dtype_from_name(dtype);
  if (!known) {
    fail(in.file(), kCodeUnknownName, "is " + dtype, nearest_name(dtype, dtype_names()), "torch_dtype");
  }
  model.dtype = *known;
}

// Figures of gpt-oss that its configuration class supplies where a file leaves them out.
void read_gpt_oss(const Reader& in, ModelSpec& model) {
  complete_family(model);
  model.qkv_bias = model.output_bias = in.flag("attention_bias", true);
  const Json* quantised = in.find({"quantization_config"});
  if (quantised != nullptr && quantised->is_object() &&
      Reader(*quantised, in.file()).text({"quant_method"}) == "mxfp4") {
    model.dtype = DType::kMxfp4;
  }
}

RopeType rope_type(const std::string& name) {
  if (name == "default") return RopeType::kDefault;
  if (name == "linear") return RopeType::kLinear;
  if (name == "dynamic") return RopeType::kDynamic;
  if (name == "yarn") return RopeType::kYarn;
  if (name == "longrope" || name == "su") return RopeType::kLongRope;
  return name == "llama3" ? RopeType::kLlama3 : RopeType::kOther;
}

void read_long_rope(const Reader& in, const Reader& part, ModelSpec& model) {
  RopeSpec& rope = model.rope;
  rope.short_divisors = part.positive_numbers("short_factor");
  rope.long_divisors = part.positive_numbers("long_factor");
  const auto pairs = static_cast<std::size_t>(rope.rotated_dim / 2);
  if (rope.short_divisors.size() != pairs || rope.long_divisors.size() != pairs) {
    fail(in.file(), kCodeInconsistent,
         "has not one short and one long factor for each of " + std::to_string(pairs) + " pairs", "",
         "rope_scaling");
  }
  const double longest = static_cast<double>(model.max_position);
  if (rope.original_max_position <= 0)
    rope.original_max_position = in.number({"original_max_position_embeddings"}, longest);
  rope.factor = longest / rope.original_max_position;
  if (rope.factor > 1)
    rope.magnitude = std::sqrt(1 + det_log(rope.factor) / det_log(rope.original_max_position));
}

// The factor that YaRN gives to cosine and sine.
double yarn_magnitude(double factor, double weight) {
  return factor > 1 ? 0.1 * weight * det_log(factor) + 1 : 1;
}

// DeepSeek states two weights: their quotient is for cosine and sine, the second one for the scores.
void read_yarn_weights(const Reader& part, ModelSpec& model) {
  RopeSpec& rope = model.rope;
  const double of_all = part.number({"mscale_all_dim"}, 0);
  if (of_all <= 0) return;
  const double magnitude = yarn_magnitude(rope.factor, of_all);
  rope.magnitude = yarn_magnitude(rope.factor, part.number({"mscale"}, 1)) / magnitude;
  if (!model.is_mla()) return;
  const auto width = static_cast<double>(model.mla.qk_nope_head_dim + model.mla.qk_rope_head_dim);
  model.attention_scale = magnitude * magnitude / std::sqrt(width);
}

// Where a file has no scaling at all.
Json gpt_oss_rope() {
  return {{"rope_type", "yarn"}, {"factor", 32.0}, {"original_max_position_embeddings", 4096}};
}

void read_rope(const Reader& in, ModelSpec& model) {
  RopeSpec& rope = model.rope;
  rope.theta = in.number({"rope_theta"}, is_family(model, "GptOss") ? 150'000 : rope.theta);
  const Json none = is_family(model, "GptOss") ? gpt_oss_rope() : Json::object();
  const Json* scaling = in.find({"rope_scaling", "rope_parameters"});
  if (scaling == nullptr) scaling = &none;
  if (!scaling->is_object()) fail(in.file(), kCodeWrongType, "is no object", "", "rope_scaling");
  const Reader kinds(*scaling, in.file());  // of layers, in newer files of Gemma 3
  if (const Json* local = kinds.find({"sliding_attention"}))
    rope.local_theta = Reader(*local, in.file()).number({"rope_theta"}, rope.local_theta);
  const Json* global = kinds.find({"full_attention"});
  const Reader part(global == nullptr ? *scaling : *global, in.file());
  const double share = part.number({"partial_rotary_factor"}, in.number({"partial_rotary_factor"}, 1));
  rope.rotated_dim = static_cast<std::int64_t>(static_cast<double>(model.head_dim) * share);
  const std::string name = part.text({"rope_type", "type"});
  if (!name.empty()) rope.type_name = name;
  rope.type = rope_type(rope.type_name);
  rope.theta = part.number({"rope_theta"}, rope.theta);
  rope.factor = part.number({"factor"}, rope.factor);
  rope.original_max_position = part.number({"original_max_position_embeddings"}, 0);
  rope.low_freq_factor = part.number({"low_freq_factor"}, rope.low_freq_factor);
  rope.high_freq_factor = part.number({"high_freq_factor"}, rope.high_freq_factor);
  rope.beta_fast = part.number({"beta_fast"}, rope.beta_fast);
  rope.beta_slow = part.number({"beta_slow"}, rope.beta_slow);
  if (rope.type == RopeType::kYarn) read_yarn_weights(part, model);
  if (rope.type == RopeType::kLongRope) read_long_rope(in, part, model);
  rope.magnitude = part.number({"attention_factor"}, rope.magnitude);
}

ModelSpec spec_from(const Json& root, const std::string& file) {
  ModelSpec model;
  const auto archs = root.find("architectures");
  if (archs != root.end() && archs->is_array() && !archs->empty() && archs->front().is_string()) {
    model.arch = archs->front().get<std::string>();
  }
  const auto nested = root.find("text_config");
  const bool is_nested = nested != root.end() && nested->is_object();
  const Reader in(is_nested ? *nested : root, file);
  model.layers = in.required({"num_hidden_layers"});
  model.hidden = in.required({"hidden_size"});
  model.vocab = in.required({"vocab_size"});
  model.intermediate = in.count({"intermediate_size"}, 0);
  model.max_position = in.required({"max_position_embeddings"});
  model.tied_embeddings =
      Reader(root, file)
          .flag("tie_word_embeddings", in.flag("tie_word_embeddings", is_family(model, "Gemma3")));
  read_attention(in, model);
  read_experts(in, model);
  read_details(in, model);
  if (is_family(model, "GptOss")) read_gpt_oss(in, model);
  model.norm_epsilon = in.number({"rms_norm_eps"}, model.norm_epsilon);
  read_rope(in, model);
  const std::string problem = problem_of(model);
  if (!problem.empty()) fail(file, kCodeInconsistent, problem);
  return model;
}

}  // namespace

ModelSpec parse_model_config(const std::string& text, const std::string& file) {
  check_depth(text, file);
  Json root;
  try {
    root = Json::parse(text);
  } catch (const Json::parse_error& error) {
    fail(file, kCodeBadValue, std::string("is no JSON: ") + error.what());
  }
  if (!root.is_object()) fail(file, kCodeWrongType, "is no JSON object");
  return spec_from(root, file);
}

ModelSpec read_model_folder(const std::string& folder) {
  const std::string file = (std::filesystem::path(folder) / "config.json").string();
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(file, ignored)) {
    fail(file, kCodeBadValue, "is not there or no regular file",
         "name a folder with the model's config.json");
  }
  if (std::filesystem::file_size(file, ignored) > kMaxConfigBytes)
    fail(file, kCodeBadValue, "is larger than 16 MiB");
  std::ifstream in(file, std::ios::binary);
  ModelSpec model = parse_model_config({std::istreambuf_iterator<char>(in), {}}, file);
  model.name = folder;
  return model;
}

}  // namespace servetwin
