// Splits text into a decimal number and what follows it, without rounding: the first half of reading a unit.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/unit_text.h"

namespace servetwin {

// sign * digits * 10^exponent. Digits have neither leading nor trailing zeros; empty digits mean 0.
struct DecimalText {
  bool negative = false;
  std::string digits;
  int exponent = 0;
  std::string_view rest;  // what follows the number, past one space
};

// Refuses text that does not start with a plain decimal number, with a hint for hex, octal, NaN and infinity.
Parsed<DecimalText> scan_decimal(std::string_view text);

// The number * factor as an exact integer; fails when it is too large or not whole. `whole_of` completes the
// sentence "is not a whole number …".
Parsed<std::int64_t> exact_integer(std::string_view text,
                                   const DecimalText& number,
                                   std::uint64_t factor,
                                   const char* whole_of);

// The number * 10^power, correctly rounded; fails when it is no finite double.
Parsed<double> nearest_double(std::string_view text, const DecimalText& number, int power);

// "text" in quotes, shortened when long: for messages.
std::string quote_text(std::string_view text);

}  // namespace servetwin
