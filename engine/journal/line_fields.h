// The fields of one journal line: a flat JSON object of whole numbers, texts, flags and lists of numbers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace servetwin {

// Reading keeps the first error and goes on with zeros, so a decoder is straight-line code with one check at
// the end.
class LineFields {
 public:
  using Value = std::variant<std::int64_t, std::uint64_t, bool, std::string, std::vector<std::uint64_t>>;

  explicit LineFields(std::string_view json);

  bool has(std::string_view key) const;
  // A whole number in [0, max]; the short form is required, the other falls back.
  std::uint64_t number(std::string_view key, std::uint64_t max);
  std::uint64_t number_or(std::string_view key, std::uint64_t fallback, std::uint64_t max);
  // Any 32-bit whole number, 0 when absent.
  std::int32_t signed_or_zero(std::string_view key);
  std::string text(std::string_view key);
  // 16 hexadecimal digits.
  std::uint64_t hex(std::string_view key);
  bool flag(std::string_view key);
  bool flag_or_false(std::string_view key);
  // Empty when absent.
  std::vector<std::uint64_t> list(std::string_view key);
  // The index of the text among `names`.
  std::size_t choice(std::string_view key, const char* const* names, std::size_t num_names);

  void fail(std::string message);
  // The first error, empty when there is none; a key nobody asked for is one.
  std::string finish();

 private:
  struct Field {
    std::string key;
    Value value;
    bool used = false;
  };
  class Handler;

  Field* find(std::string_view key);
  template <class T>
  T* get(std::string_view key, bool required, const char* expected);

  std::vector<Field> fields_;
  std::string error_;
};

}  // namespace servetwin
