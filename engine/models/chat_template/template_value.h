// The values that a chat template works with: Python's, as far as templates use them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace servetwin {

struct TemplateValue;
using TemplateRef = const TemplateValue*;  // owned by a TemplateArena

struct TemplateValue {
  enum class Kind { undefined, none, boolean, integer, number, text, list, dict, name_space };

  Kind kind = Kind::undefined;
  bool flag = false;
  std::int64_t integer = 0;  // of a namespace: its number
  double number = 0;
  std::string text{};  // of undefined: the name
  std::vector<TemplateRef> items{};
  std::vector<std::pair<std::string, TemplateRef>> fields{};

  bool is(Kind other) const { return kind == other; }
  bool is_numeric() const { return is(Kind::boolean) || is(Kind::integer) || is(Kind::number); }
};

// Owns every value of a rendering, so that values are shared by address and never copied.
class TemplateArena {
 public:
  TemplateRef make(TemplateValue value);
  TemplateRef undefined(std::string name);
  TemplateRef none();
  TemplateRef boolean(bool flag);
  TemplateRef integer(std::int64_t integer);
  TemplateRef number(double number);
  TemplateRef text(std::string text);
  TemplateRef list(std::vector<TemplateRef> items);

  // Bytes of memory, about.
  std::size_t size() const { return values_.size() * sizeof(TemplateValue) + bytes_; }

 private:
  std::deque<TemplateValue> values_;
  std::size_t bytes_ = 0;
};

bool is_true(const TemplateValue& value);
double as_number(const TemplateValue& value);  // of a boolean, an integer or a number
bool equal(const TemplateValue& a, const TemplateValue& b);
TemplateRef find_field(const TemplateValue& dict, std::string_view name);  // null: absent

// As Python's str() and json.dumps(ensure_ascii=False) write it; a negative indent writes one line.
std::string str_of(const TemplateValue& value);
std::string json_of(const TemplateValue& value, int indent);

// Values from JSON text, its keys in order. Throws ConfigError naming `file` for text that is no JSON object
// or is nested too deep.
TemplateRef parse_template_json(const std::string& text, const std::string& file, TemplateArena& arena);

}  // namespace servetwin
