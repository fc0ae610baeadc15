// What a step profile is of: the machine and model that were measured, how far, and how well it fits.
#pragma once

#include <cstdint>
#include <string>

#include "engine/base/params.h"
#include "engine/serving/shape.h"

namespace servetwin {

// On what it was measured. The first six must be those of the scenario that uses it.
struct ProfileSubject {
  std::string device;
  std::string model;
  std::string shape;  // shape_text()
  std::string dtype;
  std::string kv_dtype;
  int threads = 1;
  std::string cpu;
  std::string kernels;
  std::string build;
  std::string date;
  std::int64_t steps = 0;       // shapes of steps
  std::int64_t host_steps = 0;  // live steps

  template <class Visitor>
  void fields(Visitor& v) {
    v("device", device, "The device as scenarios name it.", kRequired);
    v("model", model, "Name of the model.", kRequired);
    v("shape", shape, "The model's sizes.", kRequired);
    v("dtype", dtype, "Number format of the weights.", kRequired);
    v("kv_dtype", kv_dtype, "Number format of the KV cache.", kRequired);
    v("threads", threads, "Threads that compute, per replica.", kRequired, Range{1, 256});
    v("cpu", cpu, "The processor that measured.");
    v("kernels", kernels, "Which of the inner loops it ran.");
    v("build", build, "Compiler and flags of the program.");
    v("date", date, "Day of the measurement.");
    v("steps", steps, "Shapes of steps that were measured.", AtLeast{std::int64_t{0}});
    v("host_steps", host_steps, "Live steps that the host's part was fitted to.", AtLeast{std::int64_t{0}});
  }
};

// The largest of each feature among the steps measured; beyond it a time is extrapolated.
struct ProfileDomain {
  std::int64_t tokens = 0;
  std::int64_t sequences = 0;
  std::int64_t context = 0;
  std::int64_t decode_context = 0;
  std::int64_t pairs = 0;

  template <class Visitor>
  void fields(Visitor& v) {
    v("tokens", tokens, "Tokens of a step.", kRequired, AtLeast{std::int64_t{1}});
    v("sequences", sequences, "Rows of a step.", kRequired, AtLeast{std::int64_t{1}});
    v("context", context, "Tokens of one row after the step.", kRequired, AtLeast{std::int64_t{1}});
    v("decode_context", decode_context, "Keys read by decode rows.", kRequired, AtLeast{std::int64_t{0}});
    v("pairs", pairs, "(query, key) pairs of prefill rows.", kRequired, AtLeast{std::int64_t{0}});
  }
  bool holds(const StepShape& shape) const;
};

// Relative error of steps whose shape group was left out of the fit: (predicted - measured) / measured.
struct RegionError {
  std::int64_t steps = 0;
  double median = 0;  // of the magnitude
  double p90 = 0;     // of the magnitude
  double low = 0;     // 5 of 100 are below
  double high = 0;    // 5 of 100 are above

  template <class Visitor>
  void fields(Visitor& v) {
    v("steps", steps, "Shapes of steps.", AtLeast{std::int64_t{0}});
    v("median", median, "Median of the error's magnitude.");
    v("p90", p90, "Its 90th percentile.");
    v("low", low, "5th percentile of the error.");
    v("high", high, "95th percentile of the error.");
  }
};

// By region: steps of decode rows alone, of prefill rows alone, of both.
struct HeldOutErrors {
  RegionError decode, prefill, mixed;

  template <class Visitor>
  void fields(Visitor& v) {
    v("decode", decode, "Steps of decode rows alone.");
    v("prefill", prefill, "Steps of prefill rows alone.");
    v("mixed", mixed, "Steps of both.");
  }
};

}  // namespace servetwin
