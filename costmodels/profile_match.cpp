// Compares field by field.
#include "costmodels/profile_match.h"

#include <array>

#include "costmodels/device_spec.h"
#include "engine/base/text.h"

namespace servetwin {

std::string profile_mismatch(const ProfileSubject& measured,
                             const CostContext& context,
                             std::optional<int> threads) {
  std::vector<std::string> all;
  const auto compare = [&](const char* what, const std::string& profile, const std::string& scenario) {
    if (profile != scenario) all.push_back(std::string(what) + ' ' + profile + ", not " + scenario);
  };
  compare("device", measured.device, context.device->name);
  compare("model", measured.shape, shape_text(*context.model));
  compare("weights", measured.dtype, name_of(context.dtype.value_or(context.model->dtype)));
  if (context.kv_dtype) compare("KV cache", measured.kv_dtype, name_of(*context.kv_dtype));
  if (threads) compare("threads", std::to_string(measured.threads), std::to_string(*threads));
  if (context.tp * context.pp != 1) compare("ranks", "1", std::to_string(context.tp * context.pp));
  return join(all, "; ");
}

std::optional<BeyondProfile> beyond_profile(const ProfileDomain& domain, const StepLimits& limits) {
  struct Limit {
    const char* path;
    std::int64_t limit;
    std::int64_t reach;
  };
  const std::array<Limit, 3> all{
      Limit{"spec.engine.max_num_batched_tokens", limits.tokens, domain.tokens},
      Limit{"spec.engine.max_num_seqs", limits.sequences, domain.sequences},
      Limit{"spec.engine.max_model_len", limits.context, domain.context},
  };
  for (const Limit& one : all) {
    if (one.limit <= one.reach) continue;
    const std::string reach = std::to_string(one.reach);
    return BeyondProfile{one.path,
                         std::to_string(one.limit) + " is beyond the steps measured, which reach " + reach,
                         "set " + reach + ", or calibrate for more"};
  }
  return std::nullopt;
}

}  // namespace servetwin
