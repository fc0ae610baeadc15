// Filters, tests and methods, each by its name in one table.
#include <algorithm>
#include <map>

#include "engine/base/text.h"
#include "engine/models/chat_template/template_operations.h"
#include "engine/models/chat_template/template_parser.h"
#include "engine/models/tokenizer/normalizer.h"
#include "engine/models/tokenizer/utf8.h"

namespace servetwin {
namespace {

using Kind = TemplateValue::Kind;
using Apply = TemplateRef (*)(const TemplateCall&);
using Test = bool (*)(const TemplateCall&);

TemplateRef argument(const TemplateCall& call, std::size_t position, std::string_view name) {
  const TemplateRef value = call.arguments.find(position, name);
  if (value == nullptr) reject_template(call.place, "'" + call.name + "' lacks an argument");
  return value;
}

const std::string& text_argument(const TemplateCall& call, std::size_t position, std::string_view name) {
  const TemplateRef value = argument(call, position, name);
  if (!value->is(Kind::text)) reject_template(call.place, "'" + call.name + "' takes a text");
  return value->text;
}

// Filters of text take anything; methods exist for texts alone.
std::string subject_text(const TemplateCall& call) { return str_of(*call.subject); }

bool is_python_space(char32_t c) { return is_white_space(c) || (c >= 0x1C && c <= 0x1F); }

std::string stripped(const TemplateCall& call, bool left, bool right) {
  const TemplateRef given = call.arguments.find(0, "chars");
  const bool by_space = given == nullptr || given->is(Kind::none);
  std::vector<std::string_view> characters;
  const std::string text = subject_text(call);
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t length = next_utf8(rest).length;
    characters.push_back(rest.substr(0, length));
    rest.remove_prefix(length);
  }
  const auto goes = [&](std::string_view c) {
    return by_space ? is_python_space(next_utf8(c).code_point) : given->text.find(c) != std::string::npos;
  };
  std::size_t begin = 0;
  std::size_t end = characters.size();
  while (left && begin < end && goes(characters[begin])) ++begin;
  while (right && end > begin && goes(characters[end - 1])) --end;
  std::string out;
  for (std::size_t i = begin; i < end; ++i) out += characters[i];
  return out;
}

TemplateRef strip(const TemplateCall& call) { return call.arena.text(stripped(call, true, true)); }
TemplateRef lstrip(const TemplateCall& call) { return call.arena.text(stripped(call, true, false)); }
TemplateRef rstrip(const TemplateCall& call) { return call.arena.text(stripped(call, false, true)); }

// Letters beyond ASCII change case by rules that are not here.
std::string ascii_text(const TemplateCall& call) {
  std::string text = subject_text(call);
  const bool ascii =
      std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  if (!ascii) refuse_template(call.place, "'" + call.name + "' of letters beyond ASCII");
  return text;
}

char raised(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

TemplateRef upper(const TemplateCall& call) {
  std::string text = ascii_text(call);
  std::transform(text.begin(), text.end(), text.begin(), raised);
  return call.arena.text(std::move(text));
}

TemplateRef lower(const TemplateCall& call) {
  std::string text = ascii_text(call);
  std::transform(text.begin(), text.end(), text.begin(), lower_case);
  return call.arena.text(std::move(text));
}

TemplateRef capitalize(const TemplateCall& call) {
  std::string text = ascii_text(call);
  std::transform(text.begin(), text.end(), text.begin(), lower_case);
  if (!text.empty()) text[0] = raised(text[0]);
  return call.arena.text(std::move(text));
}

TemplateRef length(const TemplateCall& call) {
  const TemplateValue& value = *call.subject;
  if (value.is(Kind::dict)) return call.arena.integer(static_cast<std::int64_t>(value.fields.size()));
  return call.arena.integer(
      static_cast<std::int64_t>(elements_of(call.subject, call.place, call.arena).size()));
}

TemplateRef to_json(const TemplateCall& call) {
  for (const auto& [name, value] : call.arguments.named) {
    const bool plain = name == "indent" || (name == "ensure_ascii" && !is_true(*value));
    if (!plain) refuse_template(call.place, "tojson's '" + name + "'");
  }
  if (!call.arguments.positional.empty()) refuse_template(call.place, "tojson's argument without a name");
  if (call.subject->is(Kind::undefined))
    reject_template(call.place, "'" + call.subject->text + "' is undefined");
  const TemplateRef indent = call.arguments.find(0, "indent");
  const bool indented = indent != nullptr && !indent->is(Kind::none);
  const bool fits = !indented || (indent->is(Kind::integer) && indent->integer >= 0 && indent->integer <= 16);
  if (!fits) reject_template(call.place, "tojson's indent is wrong");
  return call.arena.text(json_of(*call.subject, indented ? static_cast<int>(indent->integer) : -1));
}

TemplateRef join_items(const TemplateCall& call) {
  const TemplateRef separator = call.arguments.find(0, "d");
  std::vector<std::string> parts;
  for (const TemplateRef item : elements_of(call.subject, call.place, call.arena))
    parts.push_back(str_of(*item));
  return call.arena.text(join(parts, separator == nullptr ? "" : str_of(*separator)));
}

TemplateRef to_list(const TemplateCall& call) {
  return call.arena.list(elements_of(call.subject, call.place, call.arena));
}

TemplateRef reversed(const TemplateCall& call) {
  TemplateSlice slice;
  slice.step = call.arena.integer(-1);
  return slice_of(call.subject, slice, call.place, call.arena);
}

TemplateRef first(const TemplateCall& call) {
  const std::vector<TemplateRef> items = elements_of(call.subject, call.place, call.arena);
  return items.empty() ? call.arena.undefined("the first element") : items.front();
}

TemplateRef last(const TemplateCall& call) {
  const std::vector<TemplateRef> items = elements_of(call.subject, call.place, call.arena);
  return items.empty() ? call.arena.undefined("the last element") : items.back();
}

TemplateRef or_default(const TemplateCall& call) {
  const TemplateRef falsy = call.arguments.find(1, "boolean");
  const bool replaces =
      call.subject->is(Kind::undefined) || (falsy != nullptr && is_true(*falsy) && !is_true(*call.subject));
  if (!replaces) return call.subject;
  const TemplateRef other = call.arguments.find(0, "default_value");
  return other == nullptr ? call.arena.text("") : other;
}

TemplateRef to_text(const TemplateCall& call) { return call.arena.text(subject_text(call)); }

TemplateRef replace(const TemplateCall& call) {
  const std::string& from = text_argument(call, 0, "s");
  if (from.empty() || call.arguments.positional.size() > 2)
    refuse_template(call.place, "this form of 'replace'");
  return call.arena.text(replaced(subject_text(call), {from, text_argument(call, 1, "new")}));
}

TemplateRef items_of(const TemplateCall& call) {
  if (call.subject->is(Kind::undefined)) return call.arena.list({});
  if (!call.subject->is(Kind::dict)) reject_template(call.place, kind_name(*call.subject) + " has no items");
  std::vector<TemplateRef> pairs;
  for (const auto& [name, value] : call.subject->fields) {
    pairs.push_back(call.arena.list({call.arena.text(name), value}));
  }
  return call.arena.list(std::move(pairs));
}

// Whether `value` passes the test that the arguments from `position` on name; without one, whether it is
// true.
bool passes(const TemplateCall& call, TemplateRef value, std::size_t position) {
  if (call.arguments.positional.size() <= position) return is_true(*value);
  const std::string& name = text_argument(call, position, "");
  if (!is_template_test(name)) refuse_template(call.place, "the test '" + name + "'");
  TemplateArguments rest;
  const auto& all = call.arguments.positional;
  rest.positional.assign(all.begin() + static_cast<std::ptrdiff_t>(position) + 1, all.end());
  return apply_test({name, value, rest, call.place, call.arena});
}

TemplateRef select_items(const TemplateCall& call) {
  const bool by_attribute = call.name.ends_with("attr");
  const bool wanted = call.name.starts_with("select");
  std::vector<TemplateRef> kept;
  for (const TemplateRef item : elements_of(call.subject, call.place, call.arena)) {
    const TemplateRef value =
        by_attribute ? item_of(item, *argument(call, 0, ""), call.place, call.arena) : item;
    if (passes(call, value, by_attribute ? 1 : 0) == wanted) kept.push_back(item);
  }
  return call.arena.list(std::move(kept));
}

TemplateRef map_items(const TemplateCall& call) {
  const TemplateRef attribute = call.arguments.find(1000, "attribute");
  std::vector<TemplateRef> out;
  for (const TemplateRef item : elements_of(call.subject, call.place, call.arena)) {
    if (attribute != nullptr) {
      out.push_back(item_of(item, *attribute, call.place, call.arena));
      continue;
    }
    const std::string& name = text_argument(call, 0, "");
    if (!is_template_filter(name)) refuse_template(call.place, "the filter '" + name + "'");
    out.push_back(apply_filter({name, item, TemplateArguments{}, call.place, call.arena}));
  }
  return call.arena.list(std::move(out));
}

const std::map<std::string, Apply, std::less<>>& filters() {
  static const std::map<std::string, Apply, std::less<>> kFilters{{"trim", strip},
                                                                  {"length", length},
                                                                  {"count", length},
                                                                  {"tojson", to_json},
                                                                  {"upper", upper},
                                                                  {"lower", lower},
                                                                  {"capitalize", capitalize},
                                                                  {"join", join_items},
                                                                  {"list", to_list},
                                                                  {"first", first},
                                                                  {"last", last},
                                                                  {"default", or_default},
                                                                  {"d", or_default},
                                                                  {"string", to_text},
                                                                  {"safe", to_text},
                                                                  {"replace", replace},
                                                                  {"items", items_of},
                                                                  {"reverse", reversed},
                                                                  {"map", map_items},
                                                                  {"select", select_items},
                                                                  {"reject", select_items},
                                                                  {"selectattr", select_items},
                                                                  {"rejectattr", select_items}};
  return kFilters;
}

TemplateRef split(const TemplateCall& call) {
  const std::string& separator = text_argument(call, 0, "sep");
  const TemplateRef given = call.arguments.find(1, "maxsplit");
  if (separator.empty()) reject_template(call.place, "split by nothing");
  std::int64_t left = given == nullptr || given->integer < 0 ? INT64_MAX : given->integer;
  std::vector<TemplateRef> parts;
  const std::string& text = call.subject->text;
  std::size_t at = 0;
  for (std::size_t found = text.find(separator); found != std::string::npos && left > 0; --left) {
    parts.push_back(call.arena.text(text.substr(at, found - at)));
    at = found + separator.size();
    found = text.find(separator, at);
  }
  parts.push_back(call.arena.text(text.substr(at)));
  return call.arena.list(std::move(parts));
}

TemplateRef starts_with(const TemplateCall& call) {
  return call.arena.boolean(call.subject->text.starts_with(text_argument(call, 0, "")));
}

TemplateRef ends_with(const TemplateCall& call) {
  return call.arena.boolean(call.subject->text.ends_with(text_argument(call, 0, "")));
}

TemplateRef keys(const TemplateCall& call) { return to_list(call); }

TemplateRef values(const TemplateCall& call) {
  std::vector<TemplateRef> out;
  for (const auto& field : call.subject->fields) out.push_back(field.second);
  return call.arena.list(std::move(out));
}

TemplateRef get(const TemplateCall& call) {
  const TemplateRef found = find_field(*call.subject, text_argument(call, 0, "key"));
  if (found != nullptr) return found;
  const TemplateRef other = call.arguments.find(1, "default");
  return other == nullptr ? call.arena.none() : other;
}

struct Method {
  Apply apply;
  Kind of;
};

const std::map<std::string, Method, std::less<>>& methods() {
  static const std::map<std::string, Method, std::less<>> kMethods{{"strip", {strip, Kind::text}},
                                                                   {"lstrip", {lstrip, Kind::text}},
                                                                   {"rstrip", {rstrip, Kind::text}},
                                                                   {"split", {split, Kind::text}},
                                                                   {"upper", {upper, Kind::text}},
                                                                   {"lower", {lower, Kind::text}},
                                                                   {"capitalize", {capitalize, Kind::text}},
                                                                   {"replace", {replace, Kind::text}},
                                                                   {"startswith", {starts_with, Kind::text}},
                                                                   {"endswith", {ends_with, Kind::text}},
                                                                   {"items", {items_of, Kind::dict}},
                                                                   {"keys", {keys, Kind::dict}},
                                                                   {"values", {values, Kind::dict}},
                                                                   {"get", {get, Kind::dict}}};
  return kMethods;
}

template <Kind kind>
bool is_kind(const TemplateCall& call) {
  return call.subject->is(kind);
}

bool is_sequence(const TemplateCall& call) {
  return call.subject->is(Kind::list) || call.subject->is(Kind::dict) || call.subject->is(Kind::text) ||
         call.subject->is(Kind::undefined);
}

bool is_equal(const TemplateCall& call) { return equal(*call.subject, *argument(call, 0, "other")); }

const std::map<std::string, Test, std::less<>>& tests() {
  static const std::map<std::string, Test, std::less<>> kTests{
      {"defined", [](const TemplateCall& call) { return !call.subject->is(Kind::undefined); }},
      {"undefined", is_kind<Kind::undefined>},
      {"none", is_kind<Kind::none>},
      {"string", is_kind<Kind::text>},
      {"mapping", is_kind<Kind::dict>},
      {"boolean", is_kind<Kind::boolean>},
      {"integer", is_kind<Kind::integer>},
      {"float", is_kind<Kind::number>},
      {"number", [](const TemplateCall& call) { return call.subject->is_numeric(); }},
      {"iterable", is_sequence},
      {"sequence", is_sequence},
      {"true",
       [](const TemplateCall& call) { return call.subject->is(Kind::boolean) && call.subject->flag; }},
      {"false",
       [](const TemplateCall& call) { return call.subject->is(Kind::boolean) && !call.subject->flag; }},
      {"equalto", is_equal},
      {"eq", is_equal},
      {"ne", [](const TemplateCall& call) { return !is_equal(call); }},
      {"in", [](const TemplateCall& call) {
         return apply_compare("in", *call.subject, *argument(call, 0, "seq"), call.place);
       }}};
  return kTests;
}

}  // namespace

TemplateRef TemplateArguments::find(std::size_t position, std::string_view name) const {
  if (position < positional.size()) return positional[position];
  for (const auto& [given, value] : named) {
    if (given == name) return value;
  }
  return nullptr;
}

bool is_template_method(std::string_view name) { return methods().contains(name); }
bool is_template_filter(std::string_view name) { return filters().contains(name); }
bool is_template_test(std::string_view name) { return tests().contains(name); }

TemplateRef apply_filter(const TemplateCall& call) { return filters().at(call.name)(call); }

bool apply_test(const TemplateCall& call) { return tests().at(call.name)(call); }

TemplateRef apply_method(const TemplateCall& call) {
  const Method& method = methods().at(call.name);
  if (!call.subject->is(method.of)) {
    reject_template(call.place, kind_name(*call.subject) + " has no method '" + call.name + "'");
  }
  return method.apply(call);
}

}  // namespace servetwin
