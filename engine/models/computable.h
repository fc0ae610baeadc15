// Which models the live engine computes.
#pragma once

#include <string>

#include "engine/models/spec.h"

namespace servetwin {

// Why this build cannot run the model, by name; empty when it can.
std::string why_not_computed(const ModelSpec& spec);

// For messages: what runs.
extern const char* const kComputedFamilies;

}  // namespace servetwin
