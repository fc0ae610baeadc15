// What a serving engine adds to its kernels, by version: read from costmodels/engines/*.yaml.
#pragma once

#include <string>

#include "engine/base/params.h"
#include "engine/base/time.h"
#include "engine/base/units.h"

namespace servetwin {

// Times of one rank's step that no kernel explains. They trade off against each other where they were fitted
// to latencies, so single ones mean little.
struct EngineTimes {
  Duration step{0};
  Duration prefill_step{0};
  Duration sequence{0};
  Duration new_sequence{0};
  double overlap = 0;
  Duration layer{0};
  Duration prefill_layer{0};
  Duration eager_layer{0};
  Duration all_reduce_skew{0};
  Duration sampling{0};
  double sampling_logit_ns = 0;

  template <class Visitor>
  void fields(Visitor& v) {
    constexpr Range kUsual{Duration{0}, Duration{10'000'000'000}};
    v("step", step, "Host time of every step.", kUsual);
    v("prefill_step", prefill_step, "Host time of a step with prefill rows, besides.", kUsual);
    v("sequence", sequence, "Host time per row.", kUsual);
    v("new_sequence", new_sequence, "Host time per row admitted in the step.", kUsual);
    v("overlap", overlap, "Share of the host's time that is done beside the device with two steps in flight.",
      Range{0.0, 1.0});
    v("layer", layer, "Gaps between kernels per layer in a replayed graph.", kUsual);
    v("prefill_layer", prefill_layer, "Besides, per layer of a step with prefill rows.", kUsual);
    v("eager_layer", eager_layer, "Host time to launch a layer without a graph; hidden behind kernels.",
      kUsual);
    v("all_reduce_skew", all_reduce_skew, "Wait for the slowest rank at each all-reduce.", kUsual);
    v("sampling", sampling, "Of a step that samples.", kUsual);
    v("sampling_logit_ns", sampling_logit_ns, "Nanoseconds per row and vocabulary entry.", Range{0.0, 1e6});
  }
};

// Before admission and after output, for scenarios' front_end.
struct EngineFrontEnd {
  Duration per_request{0};
  Duration per_output{0};

  template <class Visitor>
  void fields(Visitor& v) {
    v("per_request", per_request, "From the client's send to the scheduler's queue.");
    v("per_output", per_output, "From a token to its client.");
  }
};

// What the engine takes of a device besides weights and a step's activations, for the memory model.
struct EngineMemory {
  double sampler_logit_bytes = 18;
  Bytes runtime{std::int64_t{300} << 20};

  template <class Visitor>
  void fields(Visitor& v) {
    v("sampler_logit_bytes", sampler_logit_bytes,
      "Held at once for each row's vocabulary entry while rows are sampled.", Range{0.0, 1000.0});
    v("runtime", runtime, "Kernels and what else no tensor is, where the fraction counts it.");
  }
};

struct EngineSet {
  std::string name;  // as the file is called
  EngineTimes times;
  EngineFrontEnd front_end;
  EngineMemory memory;
  std::string source;

  template <class Visitor>
  void fields(Visitor& v) {
    v("name", name, "The set's id.", kRequired);
    v("times", times, "What the engine adds to a step.", kRequired);
    v("front_end", front_end, "What it adds to a request, for front_end of a scenario.");
    v("memory", memory, "What it takes of a device's memory.");
    v("source", source, "What the figures were fitted to.", kRequired);
  }
};

}  // namespace servetwin
