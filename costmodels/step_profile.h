// What a device takes for steps of one model, as `calibrate` measured and fitted it: read from a profile
// file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "costmodels/endpoint_facts.h"
#include "costmodels/profile_subject.h"
#include "engine/base/params.h"
#include "engine/models/spec.h"
#include "engine/serving/shape.h"

namespace servetwin {

// What a profile may ask for anything at most, so that no sum of prices leaves the range of times.
inline constexpr double kMostNs = 1e11;

// Nanoseconds, none negative, so that more work never takes less time.
struct StepTerms {
  double base_ns = 0;
  std::vector<std::int64_t> token_knots;  // ascending
  std::vector<double> token_ns;           // one more: up to the first knot, between knots, beyond the last
  double context_ns = 0;
  double pair_ns = 0;
  double row_ns = 0;
  double sampled_ns = 0;
  double prefill_step_ns = 0;
  double prefill_row_ns = 0;
  double prefill_token_ns = 0;

  template <class Visitor>
  void fields(Visitor& v) {
    constexpr Range kPrice{0.0, kMostNs};
    constexpr Range kPairPrice{0.0, 1e6};
    v("base_ns", base_ns, "Of every step.", kRequired, kPrice);
    v("token_knots", token_knots, "Tokens at which the price of one more changes.", kRequired,
      AtLeast{std::int64_t{1}});
    v("token_ns", token_ns, "Of a token: up to the first knot, between knots, beyond the last.", kRequired,
      kPrice);
    v("context_ns", context_ns, "Of a key that a decode row reads.", kRequired, kPairPrice);
    v("pair_ns", pair_ns, "Of a (query, key) pair of prefill rows.", kRequired, kPairPrice);
    v("row_ns", row_ns, "Of a row.", kPrice);
    v("sampled_ns", sampled_ns, "Of a row that yields an output.", kPrice);
    v("prefill_step_ns", prefill_step_ns, "Of a step with prefill rows, besides.", kPrice);
    v("prefill_row_ns", prefill_row_ns, "Of a prefill row, besides.", kPrice);
    v("prefill_token_ns", prefill_token_ns, "Of a prefill token, besides.", kPrice);
  }
  std::string problem() const;
  double tokens_ns(std::int64_t tokens) const;
  double launch_ns(const StepShape& shape) const;  // what depends on neither tokens nor keys nor outputs
  double ns(const StepShape& shape) const;         // all but the keys that decode rows read
};

// What the engine adds to a step while the device waits, or, with two steps in flight, while it works.
struct HostTerms {
  double step_ns = 0;
  double row_ns = 0;
  double new_sequence_ns = 0;
  double sampled_ns = 0;

  template <class Visitor>
  void fields(Visitor& v) {
    constexpr Range kPrice{0.0, kMostNs};
    v("step_ns", step_ns, "Of every step.", kPrice);
    v("row_ns", row_ns, "Of a row.", kPrice);
    v("new_sequence_ns", new_sequence_ns, "Of a row admitted in the step.", kPrice);
    v("sampled_ns", sampled_ns, "Of a row that yields an output.", kPrice);
  }
  double ns(const StepShape& shape) const;
};

// `kind: StepProfile`.
struct StepProfile {
  ProfileSubject measured;
  ProfileDomain domain;
  StepTerms step;
  HostTerms host;
  HeldOutErrors error;
  std::optional<EndpointFacts> endpoint;  // where it was measured through a server's API
};

// Queries times keys: what attention of prefill rows computes.
std::int64_t prefill_pairs(const StepShape& shape);
std::string shape_text(const ModelSpec& model);  // every size that decides what steps take

// Of a profile file's tree; throws ConfigError with everything that is wrong.
StepProfile profile_from(const ConfigNode& tree);
ConfigNode write_profile(const StepProfile& profile);

}  // namespace servetwin
