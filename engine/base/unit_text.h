// Reads and prints text with units: 200ms, 80GiB, 900GB/s, 25Gbps, 9/s, 989TFLOP/s. Exact and locale-free.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "engine/base/time.h"
#include "engine/base/units.h"

namespace servetwin {

// A value, or what is wrong with the text and what to write instead.
template <class T>
struct Parsed {
  std::optional<T> value;
  std::string message;
  std::string remedy;

  explicit operator bool() const { return value.has_value(); }
};

// A value outside int64 or the finite doubles is refused, never clamped; so are hex, octal, NaN and infinity.
// Digits may be grouped with single underscores. One space may stand before a unit. Units are case-sensitive.

// 4096, 1_000, -3, 1e6, 2.5e3: any decimal text whose value is a whole number.
Parsed<std::int64_t> parse_integer(std::string_view text);
// 0.9, -1.5e-3 or 12; correctly rounded.
Parsed<double> parse_decimal(std::string_view text);
// Only true and false.
Parsed<bool> parse_bool(std::string_view text);

// ns us ms s min h; exact, so a value that is no whole number of nanoseconds is refused.
Parsed<Duration> parse_duration(std::string_view text);
// B, kB MB GB TB (powers of 1000), KiB MiB GiB TiB (powers of 1024); whole bytes, not negative.
Parsed<Bytes> parse_bytes(std::string_view text);

// Memory is quoted in bytes a second, so there a unit in bits is taken for a slip and refused.
enum class BitUnits { kAllowed, kRefused };
// Any byte unit and "/s"; bps kbps Mbps Gbps Tbps or b/s … Tb/s in bits when allowed. Not negative.
Parsed<BytesPerSecond> parse_bandwidth(std::string_view text, BitUnits bits = BitUnits::kAllowed);
// FLOP/s kFLOP/s MFLOP/s GFLOP/s TFLOP/s PFLOP/s. Not negative.
Parsed<FlopsPerSecond> parse_flop_rate(std::string_view text);
// /s, req/s or requests/s. Not negative.
Parsed<PerSecond> parse_rate(std::string_view text);

// Each prints with the largest unit that keeps the value exact; parsing the text gives the same value back.
std::string format_duration(Duration value);
std::string format_bytes(Bytes value);
std::string format_bandwidth(BytesPerSecond value);
std::string format_flop_rate(FlopsPerSecond value);
std::string format_rate(PerSecond value);

}  // namespace servetwin
