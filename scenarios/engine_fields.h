// Names, help and limits of the keys of `spec.engine`. Included by engine_spec.h only.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "scenarios/engine_spec.h"

namespace servetwin {

template <class Visitor>
void InFlightSpec::fields(Visitor& v) {
  v("depth", depth, "Steps planned before the first comes back: 1 synchronous, 2 asynchronous.",
    Range{1, 64});
  v("speculate_outputs", speculate_outputs, "Plan a request again before its output is known.");
}

// Passes all fields on but the one called `fraction`.
template <class Visitor>
struct WithoutFraction {
  Visitor& visitor;

  template <class T, class... Given>
  void operator()(const char* name, T& value, const char* help, const Given&... given) {
    if (std::string_view(name) != "fraction") visitor(name, value, help, given...);
  }
};

template <class Visitor>
void MemorySpec::fields(Visitor& v) {
  WithoutFraction<Visitor> others{v};
  MemoryOptions::fields(others);
}

inline Choices<DType> dtype_choices() {
  static const std::vector<std::string> names = dtype_names();
  Choices<DType> choices;
  for (const std::string& name : names) choices.push_back({name.c_str(), *dtype_from_name(name)});
  return choices;
}

template <class Visitor>
void StreamingSpec::fields(Visitor& v) {
  const Range tokens{0, std::int64_t{1} << 30};
  v("sink", sink, "First tokens of a sequence, which every query sees and which are never given back.",
    tokens);
  v("window", window, "Tokens a query sees besides, its own with them; 0: all, and nothing is given back.",
    tokens);
}

template <class Visitor>
void EngineSpec::fields(Visitor& v) {
  const Range any_tokens{1, std::int64_t{1} << 30};
  v("preset", preset, "The engine to behave like: a named set of rules with their settings.");
  v("max_num_seqs", config.max_num_seqs, "Running requests of a replica at most.", Range{1, 1'000'000});
  v("max_num_batched_tokens", config.max_num_batched_tokens, "Token budget of a step.", any_tokens);
  v("max_model_len", max_model_len,
    "Prompt and outputs together at most; by default what the model supports.", any_tokens);
  v("block_size", config.block_size, "Tokens of a KV block.", Range{1, 65'536});
  v("num_blocks", num_blocks, "KV blocks of a replica, the null block included; or give memory_fraction.",
    Range{2, std::int64_t{1} << 30});
  v("host_blocks", config.host_blocks,
    "KV blocks of a replica in host memory, for requests swapped out; used by rules: {pressure: swap}.",
    Range{0, std::int64_t{1} << 30});
  v("memory_fraction", memory_fraction,
    "Share of the device's memory that the engine may use, from which the memory model works out the KV "
    "blocks.",
    Range{0.01, 1.0});
  v("memory", memory, "What else takes device memory, and what memory_fraction is a share of.");
  v("dtype", dtype, "Number format of the weights; by default as the model is published.", dtype_choices());
  v("kv_dtype", kv_dtype, "Number format of the KV cache; by default 16 bits, in live runs f32.",
    dtype_choices());
  v("kv_scales", kv_scales,
    "What has a scale in an 8-bit KV cache; those of tokens take room in it. By default tensor, in live runs "
    "token_head.",
    Choices<KvScales>{{"tensor", KvScales::kTensor},
                      {"head", KvScales::kHead},
                      {"token", KvScales::kToken},
                      {"token_head", KvScales::kTokenHead}});
  v("sliding_window", sliding_window,
    "What becomes of KV behind the windows of the model's layers; by default given back where the preset's "
    "engine is vLLM V1 and nobody is swapped out.",
    Choices<SlidingWindow>{{"model", SlidingWindow::kModel}, {"keep_all", SlidingWindow::kKeepAll}});
  v("streaming", streaming, "Attention to the first tokens and a window, in every layer.");
  v("prefix_caching", config.prefix_caching,
    "Keep KV blocks of ended requests for later ones with the same prefix.");
  v("chunked_prefill", config.chunked_prefill, "Let a prompt enter in several steps.");
  v("long_prefill_token_threshold", config.long_prefill_token_threshold,
    "Longest chunk of one request in a step; 0 for no limit.", Range{0, std::int64_t{1} << 30});
  v("watermark", config.watermark, "Share of the KV blocks kept free while something runs.",
    Range{0.0, 0.99});
  v("full_sequence_gate", config.full_sequence_gate,
    "Admit a request only if all its tokens so far could be held now.");
  v("in_flight", in_flight, "How far planning runs ahead of execution.");
  v("batching_delay", config.batching_delay, "From the first reason to plan a step to the plan.",
    Range{Duration{0}, std::chrono::hours(1)});
  v("max_queued", config.max_queued, "Waiting requests of a replica at most; 0 for no bound.",
    Range{0, std::int64_t{1} << 32});
  v("graph_sizes", config.graph_sizes, "Batch sizes captured as graphs, ascending; none by default.",
    Range{1, 65'536});
  v("rules", rules, "The scheduler's rules, where they differ from the preset's.");
  v("rule_parameters", rule_parameters, "Parameters of rules that have some: {RULE: {its parameters}}.");
}

}  // namespace servetwin
