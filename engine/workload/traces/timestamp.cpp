// Digit by digit, with range checks; calendar days by the civil-from-days rule.
#include "engine/workload/traces/timestamp.h"

namespace servetwin {
namespace {

constexpr std::int64_t kNsPerSecond = 1'000'000'000;
constexpr std::int64_t kMaxNs = std::int64_t{1} << 62;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Takes exactly `count` digits from the front.
std::optional<int> take_digits(std::string_view& text, std::size_t count) {
  if (text.size() < count) return std::nullopt;
  int value = 0;
  for (const char c : text.substr(0, count)) {
    if (!is_digit(c)) return std::nullopt;
    value = value * 10 + (c - '0');
  }
  text.remove_prefix(count);
  return value;
}

bool take(std::string_view& text, char expected) {
  if (text.empty() || text.front() != expected) return false;
  text.remove_prefix(1);
  return true;
}

bool is_leap(int year) { return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0; }

int days_in_month(int year, int month) {
  constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return month == 2 && is_leap(year) ? 29 : kDays[month - 1];
}

// Since 1970-01-01.
std::int64_t days_of(int year, int month, int day) {
  std::int64_t days = day - 1;
  for (int y = 1970; y < year; ++y) days += is_leap(y) ? 366 : 365;
  for (int m = 1; m < month; ++m) days += days_in_month(year, m);
  return days;
}

std::optional<std::int64_t> take_days(std::string_view& text) {
  const auto year = take_digits(text, 4);
  if (!year || !take(text, '-')) return std::nullopt;
  const auto month = take_digits(text, 2);
  if (!month || !take(text, '-')) return std::nullopt;
  const auto day = take_digits(text, 2);
  if (!day || *year < 1970 || *year > 2199 || *month < 1 || *month > 12) return std::nullopt;
  if (*day < 1 || *day > days_in_month(*year, *month)) return std::nullopt;
  return days_of(*year, *month, *day);
}

// hh:mm, in minutes.
std::optional<std::int64_t> take_minutes(std::string_view& text) {
  const auto hours = take_digits(text, 2);
  if (!hours || !take(text, ':')) return std::nullopt;
  const auto minutes = take_digits(text, 2);
  if (!minutes || *hours > 23 || *minutes > 59) return std::nullopt;
  return *hours * 60 + *minutes;
}

// .ddd with 1 to 9 digits, in nanoseconds; 0 where there is no point.
std::optional<std::int64_t> take_fraction(std::string_view& text) {
  if (!take(text, '.')) return 0;
  std::size_t count = 0;
  while (count < text.size() && is_digit(text[count])) ++count;
  if (count == 0 || count > 9) return std::nullopt;
  std::int64_t value = *take_digits(text, count);
  for (; count < 9; ++count) value *= 10;
  return value;
}

}  // namespace

std::optional<std::int64_t> parse_decimal_ns(std::string_view text, int unit_digits) {
  std::int64_t value = 0;
  int digits_left = unit_digits;  // places after the point that still count
  bool after_point = false;
  bool any_digit = false;
  for (const char c : text) {
    if (c == '.' && !after_point) {
      after_point = true;
      continue;
    }
    if (!is_digit(c)) return std::nullopt;
    any_digit = true;
    if (after_point && digits_left == 0) continue;
    if (value > (kMaxNs - 9) / 10) return std::nullopt;
    value = value * 10 + (c - '0');
    if (after_point) --digits_left;
  }
  if (!any_digit) return std::nullopt;
  for (; digits_left > 0; --digits_left) {
    if (value > kMaxNs / 10) return std::nullopt;
    value *= 10;
  }
  return value;
}

std::optional<IsoTime> parse_iso_time(std::string_view text) {
  const auto days = take_days(text);
  if (!days) return std::nullopt;
  if (!take(text, ' ') && !take(text, 'T')) return std::nullopt;
  const auto minutes = take_minutes(text);
  if (!minutes || !take(text, ':')) return std::nullopt;
  const auto seconds = take_digits(text, 2);
  if (!seconds || *seconds > 59) return std::nullopt;
  const auto fraction = take_fraction(text);
  if (!fraction) return std::nullopt;
  IsoTime result;
  result.ns = ((*days * 1440 + *minutes) * 60 + *seconds) * kNsPerSecond + *fraction;
  if (text.empty()) return result;
  result.zone = ZoneText::kGiven;
  if (take(text, 'Z')) return text.empty() ? std::optional<IsoTime>(result) : std::nullopt;
  const bool east = take(text, '+');
  if (!east && !take(text, '-')) return std::nullopt;
  const auto offset = take_minutes(text);
  if (!offset || !text.empty()) return std::nullopt;
  result.ns += (east ? -1 : 1) * *offset * 60 * kNsPerSecond;
  return result;
}

}  // namespace servetwin
