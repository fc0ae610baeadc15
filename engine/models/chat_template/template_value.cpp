// Equality, truth and text follow Python.
#include "engine/models/chat_template/template_value.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "engine/models/tokenizer/utf8.h"

namespace servetwin {
namespace {

using Kind = TemplateValue::Kind;

// Python's repr of a float: shortest digits, an exponent below 1e-4 and from 1e16 on.
std::string float_text(double number) {
  if (!std::isfinite(number)) return std::isnan(number) ? "nan" : number > 0 ? "inf" : "-inf";
  const double size = std::fabs(number);
  const bool plain = size == 0 || (size >= 1e-4 && size < 1e16);
  std::array<char, 64> buffer{};
  const auto form = plain ? std::chars_format::fixed : std::chars_format::scientific;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number, form).ptr;
  std::string text(buffer.data(), end);
  return plain && text.find('.') == std::string::npos ? text + ".0" : text;
}

std::string hex_escape(std::string_view start, unsigned value, int digits) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out(start);
  for (int digit = digits - 1; digit >= 0; --digit) out += kDigits[(value >> (4 * digit)) & 0xFU];
  return out;
}

std::string repr_text(const std::string& text) {
  const bool has_single = text.find('\'') != std::string::npos;
  const char quote = has_single && text.find('"') == std::string::npos ? '"' : '\'';
  std::string out(1, quote);
  for (const char c : text) {
    const unsigned byte = static_cast<unsigned char>(c);
    if (c == quote || c == '\\')
      out += std::string("\\") + c;
    else if (c == '\n')
      out += "\\n";
    else if (c == '\r')
      out += "\\r";
    else if (c == '\t')
      out += "\\t";
    else if (byte < 0x20 || byte == 0x7F)
      out += hex_escape("\\x", byte, 2);
    else
      out += c;
  }
  return out + quote;
}

std::string repr_of(const TemplateValue& value) {
  if (value.is(Kind::text)) return repr_text(value.text);
  if (value.is(Kind::undefined)) return "Undefined";
  std::string out;
  if (value.is(Kind::list)) {
    for (const TemplateRef item : value.items) out += (out.empty() ? "" : ", ") + repr_of(*item);
    return "[" + out + "]";
  }
  if (!value.is(Kind::dict)) return str_of(value);
  for (const auto& [name, field] : value.fields) {
    out += (out.empty() ? "" : ", ") + repr_text(name) + ": " + repr_of(*field);
  }
  return "{" + out + "}";
}

std::string json_text(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    const unsigned byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      out += std::string("\\") + c;
    else if (c == '\n')
      out += "\\n";
    else if (c == '\r')
      out += "\\r";
    else if (c == '\t')
      out += "\\t";
    else if (c == '\b')
      out += "\\b";
    else if (c == '\f')
      out += "\\f";
    else if (byte < 0x20)
      out += hex_escape("\\u", byte, 4);
    else
      out += c;
  }
  return out + '"';
}

std::string json_scalar(const TemplateValue& value) {
  if (value.is(Kind::text)) return json_text(value.text);
  if (value.is(Kind::none)) return "null";
  if (value.is(Kind::boolean)) return value.flag ? "true" : "false";
  return str_of(value);
}

std::string json_at(const TemplateValue& value, int indent, int depth) {
  const bool is_list = value.is(Kind::list);
  if (!is_list && !value.is(Kind::dict)) return json_scalar(value);
  const std::size_t count = is_list ? value.items.size() : value.fields.size();
  if (count == 0) return is_list ? "[]" : "{}";
  const auto line = [indent](int level) {
    return indent < 0 ? std::string() : "\n" + std::string(static_cast<std::size_t>(indent * level), ' ');
  };
  std::string out(1, is_list ? '[' : '{');
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) out += indent < 0 ? ", " : ",";
    out += line(depth + 1);
    if (!is_list) out += json_text(value.fields[i].first) + ": ";
    out += json_at(is_list ? *value.items[i] : *value.fields[i].second, indent, depth + 1);
  }
  return out + line(depth) + (is_list ? ']' : '}');
}

}  // namespace

TemplateRef TemplateArena::make(TemplateValue value) {
  bytes_ += value.text.size() + 8 * value.items.size() + 40 * value.fields.size();
  return &values_.emplace_back(std::move(value));
}

TemplateRef TemplateArena::undefined(std::string name) {
  TemplateValue value;
  value.text = std::move(name);
  return make(std::move(value));
}

TemplateRef TemplateArena::none() {
  TemplateValue value;
  value.kind = Kind::none;
  return make(std::move(value));
}

TemplateRef TemplateArena::boolean(bool flag) {
  TemplateValue value;
  value.kind = Kind::boolean;
  value.flag = flag;
  return make(std::move(value));
}

TemplateRef TemplateArena::integer(std::int64_t integer) {
  TemplateValue value;
  value.kind = Kind::integer;
  value.integer = integer;
  return make(std::move(value));
}

TemplateRef TemplateArena::number(double number) {
  TemplateValue value;
  value.kind = Kind::number;
  value.number = number;
  return make(std::move(value));
}

TemplateRef TemplateArena::text(std::string text) {
  TemplateValue value;
  value.kind = Kind::text;
  value.text = std::move(text);
  return make(std::move(value));
}

TemplateRef TemplateArena::list(std::vector<TemplateRef> items) {
  TemplateValue value;
  value.kind = Kind::list;
  value.items = std::move(items);
  return make(std::move(value));
}

double as_number(const TemplateValue& value) {
  if (value.is(Kind::boolean)) return value.flag ? 1 : 0;
  return value.is(Kind::integer) ? static_cast<double>(value.integer) : value.number;
}

bool is_true(const TemplateValue& value) {
  switch (value.kind) {
    case Kind::undefined:
    case Kind::none:
      return false;
    case Kind::boolean:
      return value.flag;
    case Kind::integer:
      return value.integer != 0;
    case Kind::number:
      return value.number < 0 || value.number > 0 || std::isnan(value.number);
    case Kind::text:
      return !value.text.empty();
    case Kind::list:
      return !value.items.empty();
    case Kind::dict:
      return !value.fields.empty();
    case Kind::name_space:
      return true;
  }
  return false;
}

bool equal(const TemplateValue& a, const TemplateValue& b) {
  if (a.is(Kind::integer) && b.is(Kind::integer)) return a.integer == b.integer;
  if (a.is_numeric() && b.is_numeric()) return as_number(a) == as_number(b);
  if (a.kind != b.kind) return false;
  if (a.is(Kind::text)) return a.text == b.text;
  if (a.is(Kind::name_space)) return a.integer == b.integer;
  if (a.is(Kind::list)) {
    return std::equal(a.items.begin(), a.items.end(), b.items.begin(), b.items.end(),
                      [](TemplateRef x, TemplateRef y) { return equal(*x, *y); });
  }
  if (a.is(Kind::dict)) {
    return a.fields.size() == b.fields.size() &&
           std::all_of(a.fields.begin(), a.fields.end(), [&b](const auto& field) {
             const TemplateRef other = find_field(b, field.first);
             return other != nullptr && equal(*field.second, *other);
           });
  }
  return true;  // both undefined or both none
}

TemplateRef find_field(const TemplateValue& dict, std::string_view name) {
  for (const auto& [key, value] : dict.fields) {
    if (key == name) return value;
  }
  return nullptr;
}

std::string str_of(const TemplateValue& value) {
  switch (value.kind) {
    case Kind::undefined:
      return "";
    case Kind::none:
      return "None";
    case Kind::boolean:
      return value.flag ? "True" : "False";
    case Kind::integer:
      return std::to_string(value.integer);
    case Kind::number:
      return float_text(value.number);
    case Kind::text:
      return value.text;
    case Kind::list:
    case Kind::dict:
      return repr_of(value);
    case Kind::name_space:
      return "<Namespace>";
  }
  return "";
}

std::string json_of(const TemplateValue& value, int indent) { return json_at(value, indent, 0); }

}  // namespace servetwin
