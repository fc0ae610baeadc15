// Small text helpers that depend on no locale.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace servetwin {

// The shortest decimal text that reads back as the same double; "nan", "inf" and "-inf" for those.
std::string format_number(double value);
std::string format_number(std::int64_t value);
// 1234567 as "1,234,567": for people, not for files.
std::string format_grouped(std::int64_t value);

// ASCII only.
constexpr char lower_case(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string join(const std::vector<std::string>& parts, std::string_view separator);

// The fields of one CSV line (RFC 4180: a field in double quotes may hold commas, and "" for a quote).
// A line break inside a field is not supported; a trailing \r is dropped.
std::vector<std::string> split_csv_line(std::string_view line);
// The field as it goes into a CSV line: in quotes only where it has to be.
std::string csv_field(std::string_view text);

}  // namespace servetwin
