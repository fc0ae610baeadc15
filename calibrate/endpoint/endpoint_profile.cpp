// From outside the host's part of a step cannot be told from the device's: all of it is the step's.
#include "calibrate/endpoint/endpoint_profile.h"

#include <optional>
#include <utility>

#include "calibrate/fit/step_fit.h"

namespace servetwin {

StepProfile endpoint_profile(const ProfileSubject& subject,
                             const LoadSubject& server,
                             const std::vector<LoadRow>& rows,
                             const std::string& source) {
  LoadFit fit = fit_load(rows, source);
  StepProfile profile;
  profile.measured = subject;
  profile.measured.steps = fit.rows;
  profile.domain = fit.domain;
  profile.step = std::move(fit.terms);
  profile.error = fit.error;
  EndpointFacts facts;
  facts.url = server.url;
  facts.server = server.server;
  facts.front_end_ns = fit.front_end_ns;
  facts.front_end_token_ns = fit.front_end_token_ns;
  facts.intervals = std::move(fit.intervals);
  if (const std::optional<KvCapacity> capacity = kv_capacity(rows)) {
    facts.kv_tokens = six_digits(capacity->tokens);
    facts.kv_tokens_low = six_digits(capacity->low);
    if (capacity->high) facts.kv_tokens_high = six_digits(*capacity->high);
    facts.kv_evidence = capacity->evidence;
  }
  profile.endpoint = std::move(facts);
  return profile;
}

}  // namespace servetwin
