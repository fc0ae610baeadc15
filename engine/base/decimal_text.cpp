// Decimal text to exact integers and correctly rounded doubles.
#include "engine/base/decimal_text.h"

#include <charconv>
#include <limits>

#include "engine/base/text.h"

namespace servetwin {
namespace {

__extension__ using Wide = unsigned __int128;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

template <class T>
Parsed<T> failure(std::string_view text, const std::string& what, std::string remedy) {
  return {std::nullopt, quote_text(text) + ' ' + what, std::move(remedy)};
}

// Walks over the text; every step either consumes or leaves the position alone.
struct Scanner {
  std::string_view text;
  std::size_t at = 0;

  bool done() const { return at >= text.size(); }
  bool digit_at(std::size_t i) const { return i < text.size() && is_digit(text[i]); }

  bool take(char c) {
    if (done() || text[at] != c) return false;
    ++at;
    return true;
  }

  // Digits with single underscores between them.
  std::string take_digits() {
    std::string digits;
    while (digit_at(at) || (!digits.empty() && !done() && text[at] == '_' && digit_at(at + 1))) {
      if (text[at] != '_') digits += text[at];
      ++at;
    }
    return digits;
  }

  // An exponent, only when digits follow the e; 0 otherwise. Clamped far outside what any type holds.
  int take_exponent() {
    if (done() || (text[at] != 'e' && text[at] != 'E')) return 0;
    const bool has_sign = at + 1 < text.size() && (text[at + 1] == '-' || text[at + 1] == '+');
    if (!digit_at(at + (has_sign ? 2 : 1))) return 0;
    const bool negative = has_sign && text[at + 1] == '-';
    at += has_sign ? 2 : 1;
    int exponent = 0;
    for (const char c : take_digits()) exponent = exponent < 100000 ? exponent * 10 + (c - '0') : exponent;
    return negative ? -exponent : exponent;
  }
};

Parsed<DecimalText> not_a_number(std::string_view text) {
  std::string lower;
  for (const char c : text) {
    if (c != '.' && c != '-' && c != '+') lower += lower_case(c);
  }
  if (text.empty()) return failure<DecimalText>(text, "is empty", "write a number");
  if (lower == "nan" || lower == "inf" || lower == "infinity") {
    return failure<DecimalText>(text, "is not a finite number", "write a finite number");
  }
  if (text.size() > 1 && text[0] == '.' && is_digit(text[1])) {
    return failure<DecimalText>(text, "starts with the decimal point", "write 0" + std::string(text));
  }
  return failure<DecimalText>(text, "is not a number", "write digits, such as 100 or 0.5");
}

void normalise(std::string& digits, int& exponent) {
  digits.erase(0, digits.find_first_not_of('0'));
  while (!digits.empty() && digits.back() == '0') {
    digits.pop_back();
    ++exponent;
  }
  if (digits.empty()) exponent = 0;
}

}  // namespace

std::string quote_text(std::string_view text) {
  constexpr std::size_t kShown = 60;
  const bool cut = text.size() > kShown;
  return '"' + std::string(text.substr(0, kShown)) + (cut ? "…\"" : "\"");
}

Parsed<DecimalText> scan_decimal(std::string_view text) {
  Scanner scanner{text};
  DecimalText number;
  number.negative = scanner.take('-');
  if (!number.negative) scanner.take('+');
  const std::string whole = scanner.take_digits();
  if (whole.empty()) return not_a_number(text);
  if (whole.size() > 1 && whole[0] == '0') {
    const std::size_t first = whole.find_first_not_of('0');
    const std::string plain = first == std::string::npos ? "0" : whole.substr(first);
    return failure<DecimalText>(text, "has a leading zero, which some readers take for octal",
                                "write " + plain);
  }
  if (whole == "0" && !scanner.done() && lower_case(text[scanner.at]) == 'x') {
    return failure<DecimalText>(text, "is hexadecimal", "write it as a decimal number");
  }
  std::string fraction;
  if (scanner.digit_at(scanner.at + 1) && scanner.take('.')) fraction = scanner.take_digits();
  number.exponent = scanner.take_exponent() - static_cast<int>(fraction.size());
  number.digits = whole + fraction;
  normalise(number.digits, number.exponent);
  if (scanner.at + 1 < text.size()) scanner.take(' ');
  number.rest = text.substr(scanner.at);
  return {std::move(number), {}, {}};
}

Parsed<std::int64_t> exact_integer(std::string_view text,
                                   const DecimalText& number,
                                   std::uint64_t factor,
                                   const char* whole_of) {
  using Result = std::int64_t;
  constexpr std::size_t kMaxDigits = 19;  // what surely fits 64 bits unsigned
  const auto largest = static_cast<std::uint64_t>(std::numeric_limits<Result>::max());
  const std::uint64_t limit = largest + (number.negative ? 1 : 0);
  const std::string too_large = "is too large";
  const std::string smaller = "use a smaller value";
  if (number.digits.size() > kMaxDigits) {
    if (number.exponent >= 0) return failure<Result>(text, too_large, smaller);
    return failure<Result>(text, "has more digits than can be kept exactly", "use fewer digits");
  }
  Wide value = 0;
  for (const char c : number.digits) value = value * 10 + static_cast<unsigned>(c - '0');
  value *= factor;
  for (int e = number.exponent; e < 0; ++e) {
    if (value % 10 != 0)
      return failure<Result>(text, std::string("is not a whole number") + whole_of, "round it");
    value /= 10;
  }
  for (int e = number.exponent; e > 0 && value <= limit; --e) value *= 10;
  if (value > limit) return failure<Result>(text, too_large, smaller);
  const auto magnitude = static_cast<std::uint64_t>(value);
  return {static_cast<Result>(number.negative ? 0 - magnitude : magnitude), {}, {}};
}

Parsed<double> nearest_double(std::string_view text, const DecimalText& number, int power) {
  const std::string digits = number.digits.empty() ? "0" : number.digits;
  const std::string plain =
      (number.negative ? "-" : "") + digits + 'e' + std::to_string(number.exponent + power);
  double value = 0;
  const auto result = std::from_chars(plain.data(), plain.data() + plain.size(), value);
  if (result.ec != std::errc()) {
    return failure<double>(text, "is outside what a double can hold", "use a value of usual size");
  }
  return {value, {}, {}};
}

}  // namespace servetwin
