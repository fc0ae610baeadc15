// Time stamps of traces as whole nanoseconds, read from their digits: no floating point.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace servetwin {

// A plain decimal, such as 12.345, in a unit of 10^`unit_digits` nanoseconds (9: seconds, 6: milliseconds,
// 0: nanoseconds). Digits below a nanosecond are dropped. Nothing for a sign, an exponent, any other text, or
// a value above 2^62.
std::optional<std::int64_t> parse_decimal_ns(std::string_view text, int unit_digits);

enum class ZoneText { kNone, kGiven };

struct IsoTime {
  std::int64_t ns = 0;  // since 1970-01-01, in UTC where a zone is given
  ZoneText zone = ZoneText::kNone;
};

// 2023-11-16 18:15:46.6805900, with a space or T in the middle, up to 9 digits of a second, and optionally Z
// or ±hh:mm. Years 1970 to 2199. Nothing for anything else.
std::optional<IsoTime> parse_iso_time(std::string_view text);

}  // namespace servetwin
