// Parses a line without building a JSON value: nesting is refused as it is met, so no depth can hurt.
#include "engine/journal/line_fields.h"

#include <charconv>
#include <fmt/format.h>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

namespace servetwin {
namespace {

// More than any line has, few enough for a linear search.
constexpr std::size_t kMaxFields = 32;

}  // namespace

class LineFields::Handler final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit Handler(LineFields& line) : line_(line) {}

  bool null() override { return refuse("null is not a value here"); }

  bool boolean(bool value) override { return put(value); }

  bool number_integer(number_integer_t value) override { return put(std::int64_t{value}); }

  bool number_unsigned(number_unsigned_t value) override {
    if (!in_list_) return put(std::uint64_t{value});
    std::get<std::vector<std::uint64_t>>(line_.fields_.back().value).push_back(value);
    return true;
  }

  bool number_float(number_float_t, const string_t& text) override {
    return refuse(fmt::format("{} is not a whole number in the 64-bit range", text));
  }

  bool string(string_t& value) override { return put(std::move(value)); }

  bool binary(binary_t&) override { return refuse("binary data"); }

  bool start_object(std::size_t) override {
    if (std::exchange(in_object_, true)) return refuse("an object inside the line's object");
    return true;
  }

  bool key(string_t& name) override {
    if (line_.fields_.size() == kMaxFields) return refuse("too many keys");
    if (line_.find(name) != nullptr) return refuse(fmt::format("the key \"{}\" stands twice", name));
    line_.fields_.push_back({std::move(name), std::uint64_t{0}});
    return true;
  }

  bool end_object() override { return true; }

  bool start_array(std::size_t) override {
    if (!put(std::vector<std::uint64_t>{})) return false;
    in_list_ = true;
    return true;
  }

  bool end_array() override {
    in_list_ = false;
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    return refuse(fmt::format("not JSON from byte {} of the line on", position));
  }

 private:
  bool refuse(std::string message) {
    line_.fail(std::move(message));
    return false;
  }

  template <class T>
  bool put(T value) {
    if (!in_object_) return refuse("not a JSON object");
    if (in_list_) return refuse("a list may hold whole numbers only");
    line_.fields_.back().value = std::move(value);
    return true;
  }

  LineFields& line_;
  bool in_object_ = false;
  bool in_list_ = false;
};

LineFields::LineFields(std::string_view json) {
  fields_.reserve(16);
  Handler handler(*this);
  nlohmann::json::sax_parse(json, &handler);
}

LineFields::Field* LineFields::find(std::string_view key) {
  for (Field& field : fields_) {
    if (field.key == key) return &field;
  }
  return nullptr;
}

bool LineFields::has(std::string_view key) const {
  for (const Field& field : fields_) {
    if (field.key == key) return true;
  }
  return false;
}

template <class T>
T* LineFields::get(std::string_view key, bool required, const char* expected) {
  Field* field = find(key);
  if (field == nullptr) {
    if (required) fail(fmt::format("the key \"{}\" is missing", key));
    return nullptr;
  }
  field->used = true;
  T* value = std::get_if<T>(&field->value);
  if (value == nullptr) fail(fmt::format("\"{}\" must be {}", key, expected));
  return value;
}

std::uint64_t LineFields::number(std::string_view key, std::uint64_t max) {
  const std::uint64_t* value = get<std::uint64_t>(key, true, "a whole number, 0 or more");
  if (value == nullptr) return 0;
  if (*value > max) fail(fmt::format("\"{}\" is {}, more than {}", key, *value, max));
  return *value > max ? 0 : *value;
}

std::uint64_t LineFields::number_or(std::string_view key, std::uint64_t fallback, std::uint64_t max) {
  return has(key) ? number(key, max) : fallback;
}

std::int32_t LineFields::signed_or_zero(std::string_view key) {
  constexpr std::int64_t kMin = std::numeric_limits<std::int32_t>::min();
  constexpr std::uint64_t kMax = std::numeric_limits<std::int32_t>::max();
  const Field* field = find(key);
  if (field == nullptr) return 0;
  if (!std::holds_alternative<std::int64_t>(field->value))
    return static_cast<std::int32_t>(number(key, kMax));
  const std::int64_t value = *get<std::int64_t>(key, true, "");
  if (value < kMin) fail(fmt::format("\"{}\" is {}, less than {}", key, value, kMin));
  return value < kMin ? 0 : static_cast<std::int32_t>(value);
}

std::string LineFields::text(std::string_view key) {
  std::string* value = get<std::string>(key, true, "a text");
  return value == nullptr ? std::string() : std::move(*value);
}

std::uint64_t LineFields::hex(std::string_view key) {
  const std::string digits = text(key);
  std::uint64_t value = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, code] = std::from_chars(digits.data(), end, value, 16);
  const bool good = digits.size() == 16 && code == std::errc() && stop == end;
  if (!good) fail(fmt::format("\"{}\" must be 16 hexadecimal digits", key));
  return good ? value : 0;
}

bool LineFields::flag(std::string_view key) {
  const bool* value = get<bool>(key, true, "true or false");
  return value != nullptr && *value;
}

bool LineFields::flag_or_false(std::string_view key) { return has(key) && flag(key); }

std::vector<std::uint64_t> LineFields::list(std::string_view key) {
  std::vector<std::uint64_t>* value = get<std::vector<std::uint64_t>>(key, false, "a list of whole numbers");
  return value == nullptr ? std::vector<std::uint64_t>() : std::move(*value);
}

std::size_t LineFields::choice(std::string_view key, const char* const* names, std::size_t num_names) {
  const std::string name = text(key);
  for (std::size_t i = 0; i < num_names; ++i) {
    if (name == names[i]) return i;
  }
  fail(fmt::format("\"{}\" is \"{}\", which this version does not know", key, name));
  return 0;
}

void LineFields::fail(std::string message) {
  if (error_.empty()) error_ = std::move(message);
}

std::string LineFields::finish() {
  for (const Field& field : fields_) {
    if (!field.used) fail(fmt::format("unknown key \"{}\"", field.key));
  }
  return error_;
}

}  // namespace servetwin
