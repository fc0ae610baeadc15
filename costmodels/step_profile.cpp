// The document around a profile, and the prices of a step's parts.
#include "costmodels/step_profile.h"

#include <algorithm>
#include <utility>

namespace servetwin {
namespace {

enum class Version { kV1 };
enum class Kind { kStepProfile };

struct Document {
  Version version = Version::kV1;
  Kind kind = Kind::kStepProfile;
  StepProfile profile;

  template <class Visitor>
  void fields(Visitor& v) {
    v("apiVersion", version, "Version of the file format.", kRequired,
      Choices<Version>{{"servetwin/v1", Version::kV1}});
    v("kind", kind, "What the file describes.", kRequired,
      Choices<Kind>{{"StepProfile", Kind::kStepProfile}});
    v("measured", profile.measured, "On what it was measured.", kRequired);
    v("domain", profile.domain, "The largest of each feature among the steps measured.", kRequired);
    v("step", profile.step, "What the device takes.", kRequired);
    v("host", profile.host, "What the engine adds.", kRequired);
    v("error", profile.error, "Relative errors of steps that were left out of the fit.");
    v("endpoint", profile.endpoint, "The server whose API it was measured through; null: none.");
  }
};

double number(std::int64_t value) { return static_cast<double>(value); }

}  // namespace

bool ProfileDomain::holds(const StepShape& shape) const {
  return std::max(shape.tokens, shape.graph_size) <= tokens && shape.sequences <= sequences &&
         shape.max_context <= context && shape.decode_context <= decode_context &&
         prefill_pairs(shape) <= pairs;
}

std::string StepTerms::problem() const {
  if (token_ns.size() != token_knots.size() + 1) {
    return "token_ns needs one number more than token_knots";
  }
  const bool ascending = std::is_sorted(token_knots.begin(), token_knots.end(), std::less_equal<>());
  return ascending ? "" : "token_knots must ascend";
}

double StepTerms::tokens_ns(std::int64_t tokens) const {
  double ns = 0;
  std::int64_t from = 0;
  for (std::size_t i = 0; i < token_knots.size() && tokens > from; ++i) {
    const std::int64_t to = std::min(tokens, token_knots[i]);
    ns += token_ns[i] * number(to - from);
    from = to;
  }
  return ns + token_ns.back() * number(tokens - from);
}

double StepTerms::launch_ns(const StepShape& shape) const {
  double ns = base_ns + row_ns * number(shape.sequences);
  if (shape.prefill_sequences > 0) ns += prefill_step_ns + prefill_row_ns * number(shape.prefill_sequences);
  return ns;
}

double StepTerms::ns(const StepShape& shape) const {
  return launch_ns(shape) + tokens_ns(std::max(shape.tokens, shape.graph_size)) +
         prefill_token_ns * number(shape.prefill_tokens) + sampled_ns * number(shape.sampled_rows) +
         pair_ns * number(prefill_pairs(shape));
}

double HostTerms::ns(const StepShape& shape) const {
  return step_ns + row_ns * number(shape.sequences) + new_sequence_ns * number(shape.new_sequences) +
         sampled_ns * number(shape.sampled_rows);
}

std::int64_t prefill_pairs(const StepShape& shape) {
  return shape.prefill_q_context + (shape.prefill_q_squared + shape.prefill_tokens) / 2;
}

std::string shape_text(const ModelSpec& model) {
  std::string text = model.arch;
  const auto add = [&text](const char* name, std::int64_t value) {
    if (value != 0) text += std::string(text.empty() ? "" : " ") + name + ' ' + std::to_string(value);
  };
  add("layers", model.layers);
  add("hidden", model.hidden);
  add("heads", model.heads);
  add("kv_heads", model.kv_heads);
  add("head_dim", model.head_dim);
  add("intermediate", model.intermediate);
  add("vocab", model.vocab);
  add("window", model.sliding_window.value_or(0));
  add("experts", model.moe.num_experts);
  add("top_k", model.moe.top_k);
  add("expert_intermediate", model.moe.intermediate);
  add("shared_experts", model.moe.shared_experts);
  add("dense_layers", model.moe.first_dense_layers);
  add("kv_lora_rank", model.mla.kv_lora_rank);
  add("q_lora_rank", model.mla.q_lora_rank);
  return text;
}

StepProfile profile_from(const ConfigNode& tree) { return read_params<Document>(tree).profile; }

ConfigNode write_profile(const StepProfile& profile) {
  Document document;
  document.profile = profile;
  return write_params(document);
}

}  // namespace servetwin
