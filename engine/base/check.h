// Invariants, always on. A failed CHECK prints the expression, the values, seed, simulated time and event
// number.
#pragma once

#include <cstdint>
#include <sstream>
#include <string>

namespace servetwin {

// What a failed CHECK prints besides the expression. The serve loop keeps it up to date.
struct CheckContext {
  std::uint64_t seed = 0;
  std::int64_t time_ns = 0;
  std::uint64_t event_number = 0;
};

// One per thread: parallel simulations each have their own.
CheckContext& check_context();

// Called with the finished message; must not return. The default prints it and aborts. Tests install one that
// throws; the command line installs one that prints the replay command and exits with 3.
using CheckHandler = void (*)(const std::string& message);
void set_check_handler(CheckHandler handler);

[[noreturn, gnu::cold]] void check_failed(const char* file,
                                          int line,
                                          const char* expression,
                                          const std::string& values);

namespace check_detail {

template <class T>
void append(std::ostringstream& out, const T& value) {
  if constexpr (requires { out << value; }) {
    out << value << ' ';
  } else if constexpr (requires { value.value; }) {
    out << value.value << ' ';
  } else if constexpr (requires { value.count(); }) {
    out << value.count() << ' ';
  } else if constexpr (requires { value.time_since_epoch(); }) {
    out << value.time_since_epoch().count() << ' ';
  } else {
    out << static_cast<std::uint64_t>(value) << ' ';
  }
}

// Out of line: the path of a failure must not burden the code it guards.
template <class... Values>
[[gnu::noinline, gnu::cold]] std::string values_text(const Values&... values) {
  std::ostringstream out;
  (append(out, values), ...);
  return out.str();
}

}  // namespace check_detail

// CHECK(condition, values...): one condition, then whatever helps to understand a failure.
#define CHECK_INVARIANT(condition, ...)                                               \
  do {                                                                                \
    if (!(condition)) [[unlikely]] {                                                  \
      ::servetwin::check_failed(__FILE__, __LINE__, #condition,                       \
                                ::servetwin::check_detail::values_text(__VA_ARGS__)); \
    }                                                                                 \
  } while (false)

}  // namespace servetwin
