// A step profile by hand, and what reads it in place of a file.
#pragma once

#include "costmodels/step_profile.h"
#include "tests/costmodels/cost_test_support.h"

namespace servetwin {

inline StepProfile profile_by_hand(const ModelSpec& model) {
  StepProfile profile;
  profile.measured = {"h100-sxm", model.name, shape_text(model), "bf16", "bf16", 1, "a processor",
                      "plain",    "none",     "2026-11-30",      100,    50};
  profile.domain = {2048, 256, 8192, 1'000'000, 10'000'000};
  profile.step.base_ns = 250.5;
  profile.step.token_knots = {1, 8, 64};
  profile.step.token_ns = {1000, 300.25, 10.125, 20};
  profile.step.context_ns = 0.37;
  profile.step.pair_ns = 0.11;
  profile.step.row_ns = 7;
  profile.step.sampled_ns = 3.5;
  profile.step.prefill_step_ns = 100;
  profile.step.prefill_row_ns = 20;
  profile.step.prefill_token_ns = 1.5;
  profile.host = {5000, 40, 300, 2};
  profile.error.decode = {40, 0.01, 0.03, -0.025, 0.02};
  return profile;
}

// What the reader of the context below gives, whatever the file.
inline StepProfile& profile_to_read() {
  static StepProfile profile;
  return profile;
}

inline CostContext fitted_context(const ModelSpec& model, const DeviceSpec& device) {
  CostContext context;
  context.model = &model;
  context.device = &device;
  context.load_tree = [](const std::string&) { return write_profile(profile_to_read()); };
  return context;
}

}  // namespace servetwin
