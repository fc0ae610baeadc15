// A token's number in its vocabulary.
#pragma once

#include <cstdint>

namespace servetwin {

using TokenId = std::int32_t;

inline constexpr TokenId kNoToken = -1;

}  // namespace servetwin
