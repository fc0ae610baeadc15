// Names, help and limits of the scenario's keys. Included by scenario_spec.h only.
#pragma once

#include <string>
#include <string_view>

#include "engine/workload/horizon.h"
#include "scenarios/scenario_spec.h"

namespace servetwin {

template <class Visitor>
void LayoutSpec::fields(Visitor& v) {
  v("tp", tp, "Tensor parallel ranks of one replica.", Range{1, 64});
  v("pp", pp, "Pipeline stages of one replica.", Range{1, 64});
}

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

template <class Visitor>
void FrontEndSpec::fields(Visitor& v) {
  const Range short_time{Duration{0}, Duration{std::chrono::minutes(1)}};
  v("servers", servers, "Requests that the front end works on at once.", Range{1, 65'536});
  v("per_request", per_request, "Front-end work on a request before it is routed.", short_time);
  v("per_token", per_token, "Front-end work on each prompt token, such as tokenising.", short_time);
  v("per_output", per_output, "Time from a token to its client: detokenising and sending.", short_time);
  v("slow_reader", slow_reader,
    "What becomes of a request whose client's window is full: merge what it cannot take yet and go on, or "
    "pause.",
    Choices<SlowReaderAction>{{"merge", SlowReaderAction::kMerge}, {"pause", SlowReaderAction::kPause}});
  v("bytes_per_token", bytes_per_token, "What one token is on the wire; needed where slow readers pause.",
    Range{Bytes{1}, Bytes{std::int64_t{1} << 30}});
}

template <class Visitor>
void RunSpec::fields(Visitor& v) {
  const Range spans{Duration{0}, kHorizon};
  v("warmup", warmup, "Requests that arrive before this time are simulated but not counted.", spans);
  v("measure", measure, "Length of the time after the warm-up whose arrivals count; by default all of it.",
    spans, kPositive);
  v("drain", drain,
    "How long requests go on arriving after the measured time, so that it ends under load; by default as "
    "long as the "
    "workload has some.",
    spans);
}

inline ScenarioSpec::ScenarioSpec() {
  router.kind = ConfigNode::Kind::kScalar;
  router.text = "round_robin";
}

template <class Visitor>
void ScenarioSpec::fields(Visitor& v) {
  v("model", model, "A catalogue model by its Hugging Face name, a folder with config.json, or a GGUF file.",
    kRequired);
  v("device", device, "A device of the catalogue, such as h100-sxm, or a device file.", kRequired);
  v("replicas", replicas, "Copies of the model that serve side by side.", Range{1, 4'096});
  v("layout", layout, "How one replica is spread over devices.");
  v("engine", engine, "Scheduler and KV cache of a replica. Defaults are those of vLLM V1.");
  v("workload", workload, "The traffic: arrivals or users, lengths and a duration; or trace:FILE.",
    kRequired);
  v("router", router, "Which replica gets a request: NAME, or {name: NAME, its parameters}.");
  v("slo", slo, "What counts as good service, where a class does not say otherwise.");
  v("front_end", front_end, "Work on requests outside the engine. Times of 0 mean that it is not modelled.");
  v("run", run, "Which part of the run counts.");
  v("initial", initial, "State at the start.");
  v("cost", cost, "What a step costs: {model: NAME, its parameters}.", kRequired);
  v("seed", seed, "Seed of everything random.",
    Range{std::int64_t{0}, std::numeric_limits<std::int64_t>::max()});
}

}  // namespace servetwin
