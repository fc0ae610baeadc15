// Checks of traffic parameters, and how a class overrides its workload.
#include "engine/workload/traffic_spec.h"

#include <algorithm>

namespace servetwin {

std::string MixSpec::problem() const {
  if (weights.empty()) return "";
  if (std::none_of(weights.begin(), weights.end(), [](double w) { return w > 0; }))
    return "every weight is 0";
  if (count != 1 && static_cast<std::size_t>(count) != weights.size()) {
    return std::to_string(weights.size()) + " weights for a count of " + std::to_string(count);
  }
  return zipf == 0 ? "" : "weights and zipf exclude each other";
}

TrafficSpec TrafficSpec::over(const TrafficSpec& base) const {
  TrafficSpec result = *this;
  if (lengths.is_null()) result.lengths = base.lengths;
  if (max_tokens.is_null()) result.max_tokens = base.max_tokens;
  if (!priority) result.priority = base.priority;
  if (!tenants) result.tenants = base.tenants;
  if (!adapters) result.adapters = base.adapters;
  if (!cache_salt) result.cache_salt = base.cache_salt;
  if (!shared_prefix) result.shared_prefix = base.shared_prefix;
  if (!sessions) result.sessions = base.sessions;
  if (!cancellations) result.cancellations = base.cancellations;
  if (!timeouts) result.timeouts = base.timeouts;
  if (!slow_readers) result.slow_readers = base.slow_readers;
  return result;
}

}  // namespace servetwin
