// Units by table: exact integers for counts, correctly rounded doubles for rates.
#include "engine/base/unit_text.h"

#include <cmath>
#include <vector>

#include "engine/base/decimal_text.h"
#include "engine/base/error.h"
#include "engine/base/text.h"

namespace servetwin {
namespace {

// A unit of a count: how many of the base unit it holds.
struct CountUnit {
  const char* name;
  std::uint64_t factor;
};

// Rising factors, so that the last exact one is the largest.
constexpr CountUnit kDurationUnits[] = {{"ns", 1},
                                        {"us", 1'000},
                                        {"ms", 1'000'000},
                                        {"s", 1'000'000'000},
                                        {"min", 60'000'000'000},
                                        {"h", 3'600'000'000'000}};
constexpr CountUnit kByteUnits[] = {{"B", 1},
                                    {"kB", 1'000},
                                    {"KiB", 1ULL << 10},
                                    {"MB", 1'000'000},
                                    {"MiB", 1ULL << 20},
                                    {"GB", 1'000'000'000},
                                    {"GiB", 1ULL << 30},
                                    {"TB", 1'000'000'000'000},
                                    {"TiB", 1ULL << 40}};

// A unit of a rate: 10^power * multiple of the base unit. Multiples are powers of two, so they never round.
struct RateUnit {
  const char* name;
  int power;
  double multiple;
};

constexpr double kBit = 0.125;
constexpr RateUnit kByteRateUnits[] = {
    {"B/s", 0, 1},           {"kB/s", 3, 1},           {"MB/s", 6, 1},           {"GB/s", 9, 1},
    {"TB/s", 12, 1},         {"KiB/s", 0, 1ULL << 10}, {"MiB/s", 0, 1ULL << 20}, {"GiB/s", 0, 1ULL << 30},
    {"TiB/s", 0, 1ULL << 40}};
constexpr RateUnit kBitRateUnits[] = {
    {"bps", 0, kBit}, {"kbps", 3, kBit}, {"Mbps", 6, kBit}, {"Gbps", 9, kBit}, {"Tbps", 12, kBit},
    {"b/s", 0, kBit}, {"kb/s", 3, kBit}, {"Mb/s", 6, kBit}, {"Gb/s", 9, kBit}, {"Tb/s", 12, kBit}};
constexpr RateUnit kFlopRateUnits[] = {{"FLOP/s", 0, 1},  {"kFLOP/s", 3, 1},  {"MFLOP/s", 6, 1},
                                       {"GFLOP/s", 9, 1}, {"TFLOP/s", 12, 1}, {"PFLOP/s", 15, 1}};
constexpr RateUnit kEventRateUnits[] = {{"/s", 0, 1}, {"req/s", 0, 1}, {"requests/s", 0, 1}};

using Names = std::vector<std::string>;

template <class Units>
Names names_in(const Units& units) {
  Names names;
  for (const auto& unit : units) names.emplace_back(unit.name);
  return names;
}

template <class Units>
auto find_unit(const Units& units, std::string_view name) -> decltype(&units[0]) {
  for (const auto& unit : units) {
    if (name == unit.name) return &unit;
  }
  return nullptr;
}

std::string lower(std::string_view text) {
  std::string result;
  for (const char c : text) result += lower_case(c);
  return result;
}

// What the text was probably meant to say: the same unit in another case, else the nearest, else the list.
std::string unit_remedy(std::string_view text, std::string_view unit, const Names& names, const char* usual) {
  const std::string number(text.substr(0, text.size() - unit.size()));
  if (unit.empty()) return "did you mean " + number + usual + '?';
  Names likely;
  for (const std::string& name : names) {
    if (lower(name) == lower(unit)) likely.push_back(number + name);
  }
  const std::string nearest = likely.empty() && unit.size() > 1 ? nearest_name(std::string(unit), names) : "";
  if (!nearest.empty()) likely.push_back(number + nearest);
  if (!likely.empty()) return "did you mean " + join(likely, " or ") + '?';
  return "units: " + join(names, ", ");
}

template <class T>
Parsed<T> bad_unit(std::string_view text, std::string_view unit, const Names& names, const char* usual) {
  const std::string message = unit.empty() ? quote_text(text) + " has no unit"
                                           : quote_text(text) + " has the unknown unit " + quote_text(unit);
  return {std::nullopt, message, unit_remedy(text, unit, names, usual)};
}

template <class To, class From>
Parsed<To> pass_on(const Parsed<From>& failed) {
  return {std::nullopt, failed.message, failed.remedy};
}

template <class T>
Parsed<T> negative(std::string_view text) {
  return {std::nullopt, quote_text(text) + " is negative", "write a value of at least 0"};
}

// Anything after a plain number is one of a few slips.
template <class T>
Parsed<T> trailing(std::string_view text, const DecimalText& number) {
  std::string remedy = "write a plain number, without a unit";
  if (number.rest == "%") {
    const Parsed<double> fraction = nearest_double(text, number, -2);
    if (fraction) remedy = "write it as a fraction: " + format_number(*fraction.value);
  } else if (number.rest[0] == ',') {
    remedy = "write the decimal point as . and group digits with _";
  }
  return {std::nullopt, quote_text(text) + " has " + quote_text(number.rest) + " after the number", remedy};
}

template <class Units>
Parsed<std::int64_t> parse_count(std::string_view text,
                                 const Units& units,
                                 const char* usual,
                                 const char* whole_of) {
  const Parsed<DecimalText> number = scan_decimal(text);
  if (!number) return pass_on<std::int64_t>(number);
  const auto* unit = find_unit(units, number.value->rest);
  if (unit == nullptr) return bad_unit<std::int64_t>(text, number.value->rest, names_in(units), usual);
  return exact_integer(text, *number.value, unit->factor, whole_of);
}

Parsed<double> scaled(std::string_view text, const DecimalText& number, const RateUnit& unit) {
  if (number.negative && !number.digits.empty()) return negative<double>(text);
  Parsed<double> value = nearest_double(text, number, unit.power);
  if (!value) return value;
  *value.value *= unit.multiple;
  if (std::isfinite(*value.value)) return value;
  return {std::nullopt, quote_text(text) + " is too large", "use a smaller value"};
}

template <class Units>
Parsed<double> parse_rate_in(std::string_view text, const Units& units, const char* usual) {
  const Parsed<DecimalText> number = scan_decimal(text);
  if (!number) return pass_on<double>(number);
  const auto* unit = find_unit(units, number.value->rest);
  if (unit == nullptr) return bad_unit<double>(text, number.value->rest, names_in(units), usual);
  return scaled(text, *number.value, *unit);
}

template <class Units>
std::string format_count(std::int64_t value, const Units& units, const char* zero) {
  if (value == 0) return zero;
  const auto* best = &units[0];
  for (const auto& unit : units) {
    if (value % static_cast<std::int64_t>(unit.factor) == 0) best = &unit;
  }
  return format_number(value / static_cast<std::int64_t>(best->factor)) + best->name;
}

// The largest power of ten that is not above the value and reads back as the same double.
template <class Units>
std::string format_rate_in(double value, const Units& units) {
  std::string best = format_number(value) + units[0].name;
  double factor = 1;
  int power = 0;
  for (const RateUnit& unit : units) {
    if (unit.multiple != 1) continue;
    for (; power < unit.power; ++power) factor *= 10;
    const std::string text = format_number(value / factor) + unit.name;
    const Parsed<double> back = value >= factor ? parse_rate_in(text, units, "") : Parsed<double>{};
    if (back && *back.value == value) best = text;
  }
  return best;
}

template <class T>
Parsed<T> wrap(const Parsed<double>& rate) {
  if (!rate) return pass_on<T>(rate);
  return {T{*rate.value}, {}, {}};
}

}  // namespace

Parsed<std::int64_t> parse_integer(std::string_view text) {
  const Parsed<DecimalText> number = scan_decimal(text);
  if (!number) return pass_on<std::int64_t>(number);
  if (!number.value->rest.empty()) return trailing<std::int64_t>(text, *number.value);
  return exact_integer(text, *number.value, 1, "");
}

Parsed<double> parse_decimal(std::string_view text) {
  const Parsed<DecimalText> number = scan_decimal(text);
  if (!number) return pass_on<double>(number);
  if (!number.value->rest.empty()) return trailing<double>(text, *number.value);
  return nearest_double(text, *number.value, 0);
}

Parsed<bool> parse_bool(std::string_view text) {
  if (text == "true") return {true, {}, {}};
  if (text == "false") return {false, {}, {}};
  const std::string word = lower(text);
  std::string remedy = "write true or false";
  if (word == "yes" || word == "on" || word == "true" || word == "y" || word == "1") remedy = "write true";
  if (word == "no" || word == "off" || word == "false" || word == "n" || word == "0") remedy = "write false";
  return {std::nullopt, quote_text(text) + " is not a truth value", remedy};
}

Parsed<Duration> parse_duration(std::string_view text) {
  const Parsed<std::int64_t> ns = parse_count(text, kDurationUnits, "ms", " of nanoseconds");
  if (!ns) return pass_on<Duration>(ns);
  return {Duration{*ns.value}, {}, {}};
}

Parsed<Bytes> parse_bytes(std::string_view text) {
  const Parsed<std::int64_t> bytes = parse_count(text, kByteUnits, "GiB", " of bytes");
  if (!bytes) return pass_on<Bytes>(bytes);
  if (*bytes.value < 0) return negative<Bytes>(text);
  return {Bytes{*bytes.value}, {}, {}};
}

Parsed<BytesPerSecond> parse_bandwidth(std::string_view text, BitUnits bits) {
  const Parsed<DecimalText> number = scan_decimal(text);
  if (!number) return pass_on<BytesPerSecond>(number);
  const RateUnit* bit_unit = find_unit(kBitRateUnits, number.value->rest);
  if (bit_unit == nullptr) {
    const RateUnit* unit = find_unit(kByteRateUnits, number.value->rest);
    if (unit != nullptr) return wrap<BytesPerSecond>(scaled(text, *number.value, *unit));
    Names names = names_in(kByteRateUnits);
    const Names bit_names = names_in(kBitRateUnits);
    if (bits == BitUnits::kAllowed) names.insert(names.end(), bit_names.begin(), bit_names.end());
    return bad_unit<BytesPerSecond>(text, number.value->rest, names, "GB/s");
  }
  const Parsed<double> rate = scaled(text, *number.value, *bit_unit);
  if (bits == BitUnits::kAllowed || !rate) return wrap<BytesPerSecond>(rate);
  const std::string digits(text.substr(0, text.size() - number.value->rest.size()));
  const char* same_prefix = "B/s";
  for (const RateUnit& unit : kByteRateUnits) {
    if (unit.power == bit_unit->power && unit.multiple == 1) same_prefix = unit.name;
  }
  return {std::nullopt, quote_text(text) + " is in bits, but a memory's bandwidth is in bytes",
          "did you mean " + digits + same_prefix + "? as written it would be " +
              format_bandwidth(BytesPerSecond{*rate.value})};
}

Parsed<FlopsPerSecond> parse_flop_rate(std::string_view text) {
  return wrap<FlopsPerSecond>(parse_rate_in(text, kFlopRateUnits, "TFLOP/s"));
}

Parsed<PerSecond> parse_rate(std::string_view text) {
  return wrap<PerSecond>(parse_rate_in(text, kEventRateUnits, "/s"));
}

std::string format_duration(Duration value) { return format_count(value.count(), kDurationUnits, "0s"); }

std::string format_bytes(Bytes value) { return format_count(value.value, kByteUnits, "0B"); }

std::string format_bandwidth(BytesPerSecond value) { return format_rate_in(value.value, kByteRateUnits); }

std::string format_flop_rate(FlopsPerSecond value) { return format_rate_in(value.value, kFlopRateUnits); }

std::string format_rate(PerSecond value) { return format_number(value.value) + "/s"; }

}  // namespace servetwin
