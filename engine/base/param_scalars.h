// How each scalar type of a field is called, read and printed. Included by params.h only.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "engine/base/params.h"
#include "engine/base/text.h"
#include "engine/base/unit_text.h"

namespace servetwin::param_detail {

template <class T>
struct Scalar;

template <class Count>
Parsed<Count> parse_count(const std::string& text) {
  const Parsed<std::int64_t> parsed = parse_integer(text);
  if (!parsed) return {std::nullopt, parsed.message, parsed.remedy};
  return {Count{*parsed.value}, {}, {}};
}

inline Parsed<int> parse_int(const std::string& text) {
  const Parsed<std::int64_t> parsed = parse_integer(text);
  if (!parsed) return {std::nullopt, parsed.message, parsed.remedy};
  const std::int64_t value = *parsed.value;
  if (value >= std::numeric_limits<int>::min() && value <= std::numeric_limits<int>::max()) {
    return {static_cast<int>(value), {}, {}};
  }
  return {std::nullopt, '"' + text + "\" is too large", "use a smaller value"};
}

template <>
struct Scalar<bool> {
  static constexpr FieldType kType = FieldType::kBool;
  static Parsed<bool> parse(const std::string& text, BitUnits) { return parse_bool(text); }
  static std::string print(bool value) { return value ? "true" : "false"; }
};

template <>
struct Scalar<int> {
  static constexpr FieldType kType = FieldType::kInteger;
  static Parsed<int> parse(const std::string& text, BitUnits) { return parse_int(text); }
  static std::string print(int value) { return std::to_string(value); }
};

template <>
struct Scalar<std::int64_t> {
  static constexpr FieldType kType = FieldType::kInteger;
  static Parsed<std::int64_t> parse(const std::string& text, BitUnits) { return parse_integer(text); }
  static std::string print(std::int64_t value) { return format_number(value); }
};

template <>
struct Scalar<double> {
  static constexpr FieldType kType = FieldType::kNumber;
  static Parsed<double> parse(const std::string& text, BitUnits) { return parse_decimal(text); }
  static std::string print(double value) { return format_number(value); }
};

template <>
struct Scalar<std::string> {
  static constexpr FieldType kType = FieldType::kText;
  static Parsed<std::string> parse(const std::string& text, BitUnits) { return {text, {}, {}}; }
  static std::string print(const std::string& value) { return value; }
};

template <>
struct Scalar<Duration> {
  static constexpr FieldType kType = FieldType::kDuration;
  static Parsed<Duration> parse(const std::string& text, BitUnits) { return parse_duration(text); }
  static std::string print(Duration value) { return format_duration(value); }
};

template <>
struct Scalar<Bytes> {
  static constexpr FieldType kType = FieldType::kBytes;
  static Parsed<Bytes> parse(const std::string& text, BitUnits) { return parse_bytes(text); }
  static std::string print(Bytes value) { return format_bytes(value); }
};

template <>
struct Scalar<Tokens> {
  static constexpr FieldType kType = FieldType::kTokens;
  static Parsed<Tokens> parse(const std::string& text, BitUnits) { return parse_count<Tokens>(text); }
  static std::string print(Tokens value) { return format_number(value.value); }
};

template <>
struct Scalar<Blocks> {
  static constexpr FieldType kType = FieldType::kBlocks;
  static Parsed<Blocks> parse(const std::string& text, BitUnits) { return parse_count<Blocks>(text); }
  static std::string print(Blocks value) { return format_number(value.value); }
};

template <>
struct Scalar<BytesPerSecond> {
  static constexpr FieldType kType = FieldType::kBandwidth;
  static Parsed<BytesPerSecond> parse(const std::string& text, BitUnits bits) {
    return parse_bandwidth(text, bits);
  }
  static std::string print(BytesPerSecond value) { return format_bandwidth(value); }
};

template <>
struct Scalar<FlopsPerSecond> {
  static constexpr FieldType kType = FieldType::kFlopRate;
  static Parsed<FlopsPerSecond> parse(const std::string& text, BitUnits) { return parse_flop_rate(text); }
  static std::string print(FlopsPerSecond value) { return format_flop_rate(value); }
};

template <>
struct Scalar<PerSecond> {
  static constexpr FieldType kType = FieldType::kRate;
  static Parsed<PerSecond> parse(const std::string& text, BitUnits) { return parse_rate(text); }
  static std::string print(PerSecond value) { return format_rate(value); }
};

}  // namespace servetwin::param_detail
