// Every number of a cost model as text, and the hash that identifies them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/params.h"

namespace servetwin {

// "a=1 b.c=2us" of a parameter tree, in declaration order.
std::string profile_text(const ConfigNode& params);

template <class Params>
std::string params_text(const Params& params) {
  return profile_text(write_params(params));
}

std::uint64_t profile_hash_of(std::string_view text);

}  // namespace servetwin
