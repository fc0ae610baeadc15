// Operators and subscripts, with Python's meaning; what Python would refuse is refused with the line.
#include "engine/models/chat_template/template_operations.h"

#include <algorithm>

#include "engine/models/tokenizer/utf8.h"

namespace servetwin {
namespace {

using Kind = TemplateValue::Kind;

std::int64_t as_integer(const TemplateValue& value) {
  return value.is(Kind::boolean) ? (value.flag ? 1 : 0) : value.integer;
}

[[noreturn]] void cannot(const std::string& sign,
                         const TemplateValue& left,
                         const TemplateValue& right,
                         const TemplatePlace& place) {
  reject_template(place, "'" + sign + "' cannot join " + kind_name(left) + " and " + kind_name(right));
}

TemplateRef integer_arithmetic(const std::string& sign,
                               std::int64_t a,
                               std::int64_t b,
                               const TemplatePlace& place,
                               TemplateArena& arena) {
  std::int64_t out = 0;
  bool overflows = false;
  if (sign == "+")
    overflows = __builtin_add_overflow(a, b, &out);
  else if (sign == "-")
    overflows = __builtin_sub_overflow(a, b, &out);
  else if (sign == "*")
    overflows = __builtin_mul_overflow(a, b, &out);
  else {
    if (b == 0) reject_template(place, "division by zero");
    if (b == -1) return integer_arithmetic("*", sign == "%" ? 0 : a, -1, place, arena);
    const bool down = a % b != 0 && (a % b < 0) != (b < 0);  // towards minus infinity, as Python
    out = sign == "%" ? a % b + (down ? b : 0) : a / b - (down ? 1 : 0);
  }
  if (overflows) reject_template(place, "a number is too large");
  return arena.integer(out);
}

TemplateRef arithmetic(const std::string& sign,
                       const TemplateValue& left,
                       const TemplateValue& right,
                       const TemplatePlace& place,
                       TemplateArena& arena) {
  const bool fraction = left.is(Kind::number) || right.is(Kind::number);
  if (!fraction && sign != "/")
    return integer_arithmetic(sign, as_integer(left), as_integer(right), place, arena);
  const double a = as_number(left);
  const double b = as_number(right);
  if (sign == "+") return arena.number(a + b);
  if (sign == "-") return arena.number(a - b);
  if (sign == "*") return arena.number(a * b);
  if (sign != "/") refuse_template(place, "'" + sign + "' of fractions");
  if (b == 0) reject_template(place, "division by zero");
  return arena.number(a / b);
}

bool contains(const TemplateValue& whole, const TemplateValue& part, const TemplatePlace& place) {
  if (whole.is(Kind::text)) {
    if (!part.is(Kind::text)) cannot("in", part, whole, place);
    return whole.text.find(part.text) != std::string::npos;
  }
  if (whole.is(Kind::dict)) return part.is(Kind::text) && find_field(whole, part.text) != nullptr;
  if (whole.is(Kind::undefined)) return false;
  if (!whole.is(Kind::list)) cannot("in", part, whole, place);
  return std::any_of(whole.items.begin(), whole.items.end(),
                     [&](TemplateRef item) { return equal(*item, part); });
}

// Where Python's slice begins and how many steps it takes.
struct Walk {
  std::int64_t first = 0;
  std::int64_t step = 1;
  std::int64_t count = 0;
};

std::int64_t slice_part(TemplateRef part, std::int64_t absent, const TemplatePlace& place) {
  if (part == nullptr || part->is(Kind::none)) return absent;
  if (!part->is(Kind::integer)) reject_template(place, "a slice's end is " + kind_name(*part));
  return part->integer;
}

Walk walk_of(const TemplateSlice& slice, std::int64_t size, const TemplatePlace& place) {
  Walk walk;
  walk.step = slice_part(slice.step, 1, place);
  if (walk.step == 0) reject_template(place, "a slice's step is 0");
  const bool back = walk.step < 0;
  const std::int64_t low = back ? -1 : 0;
  const std::int64_t high = back ? size - 1 : size;
  const auto clamp = [&](TemplateRef part, std::int64_t absent) {
    const std::int64_t given = slice_part(part, absent, place);
    if (part == nullptr || part->is(Kind::none)) return absent;
    return std::clamp(given < 0 ? given + size : given, low, high);
  };
  walk.first = clamp(slice.start, back ? high : low);
  const std::int64_t last = clamp(slice.stop, back ? low : high);
  const std::int64_t span = back ? walk.first - last : last - walk.first;
  const std::int64_t pace = back ? -std::max(walk.step, -size - 1) : walk.step;
  walk.step = back ? -pace : pace;
  walk.count = span <= 0 ? 0 : (span - 1) / pace + 1;
  return walk;
}

}  // namespace

std::string kind_name(const TemplateValue& value) {
  switch (value.kind) {
    case Kind::undefined:
      return "'" + value.text + "', which is undefined,";
    case Kind::none:
      return "none";
    case Kind::boolean:
      return "a boolean";
    case Kind::integer:
      return "an integer";
    case Kind::number:
      return "a number";
    case Kind::text:
      return "a text";
    case Kind::list:
      return "a list";
    case Kind::dict:
      return "a dict";
    case Kind::name_space:
      return "a namespace";
  }
  return "";
}

TemplateRef apply_binary(const std::string& sign,
                         TemplateRef left,
                         TemplateRef right,
                         const TemplatePlace& place,
                         TemplateArena& arena) {
  if (sign == "~") return arena.text(str_of(*left) + str_of(*right));
  if (left->is_numeric() && right->is_numeric()) return arithmetic(sign, *left, *right, place, arena);
  if (sign != "+" || left->kind != right->kind) cannot(sign, *left, *right, place);
  if (left->is(Kind::text)) return arena.text(left->text + right->text);
  if (!left->is(Kind::list)) cannot(sign, *left, *right, place);
  std::vector<TemplateRef> items = left->items;
  items.insert(items.end(), right->items.begin(), right->items.end());
  return arena.list(std::move(items));
}

bool apply_compare(const std::string& sign,
                   const TemplateValue& left,
                   const TemplateValue& right,
                   const TemplatePlace& place) {
  if (sign == "==") return equal(left, right);
  if (sign == "!=") return !equal(left, right);
  if (sign == "in") return contains(right, left, place);
  if (sign == "not in") return !contains(right, left, place);
  const bool texts = left.is(Kind::text) && right.is(Kind::text);
  if (!texts && !(left.is_numeric() && right.is_numeric())) cannot(sign, left, right, place);
  const bool less = texts ? left.text < right.text : as_number(left) < as_number(right);
  const bool more = texts ? right.text < left.text : as_number(right) < as_number(left);
  if (sign == "<") return less;
  if (sign == ">") return more;
  return sign == "<=" ? less || equal(left, right) : more || equal(left, right);
}

std::vector<TemplateRef> elements_of(TemplateRef value, const TemplatePlace& place, TemplateArena& arena) {
  if (value->is(Kind::list)) return value->items;
  std::vector<TemplateRef> out;
  if (value->is(Kind::dict)) {
    for (const auto& field : value->fields) out.push_back(arena.text(field.first));
  } else if (value->is(Kind::text)) {
    std::string_view rest = value->text;
    while (!rest.empty()) {
      const std::size_t length = next_utf8(rest).length;
      out.push_back(arena.text(std::string(rest.substr(0, length))));
      rest.remove_prefix(length);
    }
  } else if (!value->is(Kind::undefined)) {
    reject_template(place, kind_name(*value) + " has no elements");
  }
  return out;
}

TemplateRef item_of(TemplateRef value,
                    const TemplateValue& key,
                    const TemplatePlace& place,
                    TemplateArena& arena) {
  if (value->is(Kind::undefined)) reject_template(place, "'" + value->text + "' is undefined");
  TemplateRef found = nullptr;
  if (value->is(Kind::dict) && key.is(Kind::text)) found = find_field(*value, key.text);
  const bool ordered = value->is(Kind::list) || value->is(Kind::text);
  if (ordered && key.is(Kind::integer)) {
    const std::vector<TemplateRef> items = elements_of(value, place, arena);
    const std::int64_t size = static_cast<std::int64_t>(items.size());
    const std::int64_t at = key.integer < 0 ? key.integer + size : key.integer;
    if (at >= 0 && at < size) found = items[static_cast<std::size_t>(at)];
  }
  return found != nullptr ? found : arena.undefined(str_of(key));
}

TemplateRef slice_of(TemplateRef value,
                     const TemplateSlice& slice,
                     const TemplatePlace& place,
                     TemplateArena& arena) {
  const bool ordered = value->is(Kind::list) || value->is(Kind::text);
  if (!ordered) reject_template(place, kind_name(*value) + " cannot be sliced");
  const std::vector<TemplateRef> items = elements_of(value, place, arena);
  const Walk walk = walk_of(slice, static_cast<std::int64_t>(items.size()), place);
  std::vector<TemplateRef> kept;
  for (std::int64_t i = 0; i < walk.count; ++i) {
    kept.push_back(items[static_cast<std::size_t>(walk.first + i * walk.step)]);
  }
  if (value->is(Kind::list)) return arena.list(std::move(kept));
  std::string text;
  for (const TemplateRef item : kept) text += item->text;
  return arena.text(std::move(text));
}

}  // namespace servetwin
