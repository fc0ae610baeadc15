// Names, help and limits of the scenario's keys. Included by scenario_spec.h only.
#pragma once

#include <string>

#include "engine/workload/horizon.h"
#include "scenarios/scenario_spec.h"

namespace servetwin {

template <class Visitor>
void LayoutSpec::fields(Visitor& v) {
  v("tp", tp, "Tensor parallel ranks of one replica.", Range{1, 64});
  v("pp", pp, "Pipeline stages of one replica.", Range{1, 64});
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
