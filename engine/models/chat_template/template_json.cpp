// JSON text to template values, keys in the order of the text.
#include <nlohmann/json.hpp>

#include "engine/base/error.h"
#include "engine/base/params.h"
#include "engine/models/chat_template/template_value.h"

namespace servetwin {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr int kMaxJsonDepth = 64;

[[noreturn]] void reject(const std::string& file, const std::string& what) {
  throw ConfigError(Problem{kCodeBadValue, SourcePlace{file, 0, 0}, "", what, ""});
}

TemplateRef value_of(const OrderedJson& json, TemplateArena& arena) {
  TemplateValue value;
  switch (json.type()) {
    case OrderedJson::value_t::null:
      return arena.none();
    case OrderedJson::value_t::boolean:
      return arena.boolean(json.get<bool>());
    case OrderedJson::value_t::number_integer:
      return arena.integer(json.get<std::int64_t>());
    case OrderedJson::value_t::number_unsigned:
      return json.get<std::uint64_t>() > INT64_MAX ? arena.number(json.get<double>())
                                                   : arena.integer(json.get<std::int64_t>());
    case OrderedJson::value_t::number_float:
      return arena.number(json.get<double>());
    case OrderedJson::value_t::string:
      return arena.text(json.get<std::string>());
    case OrderedJson::value_t::array:
      value.kind = TemplateValue::Kind::list;
      for (const OrderedJson& item : json) value.items.push_back(value_of(item, arena));
      return arena.make(std::move(value));
    case OrderedJson::value_t::object:
      value.kind = TemplateValue::Kind::dict;
      for (const auto& item : json.items())
        value.fields.emplace_back(item.key(), value_of(item.value(), arena));
      return arena.make(std::move(value));
    default:
      return arena.none();
  }
}

}  // namespace

TemplateRef parse_template_json(const std::string& text, const std::string& file, TemplateArena& arena) {
  const auto check_depth = [&file](int depth, OrderedJson::parse_event_t, OrderedJson&) {
    if (depth > kMaxJsonDepth) reject(file, "is nested too deep");
    return true;
  };
  try {
    const OrderedJson json = OrderedJson::parse(text, check_depth);
    if (!json.is_object()) reject(file, "is no JSON object");
    return value_of(json, arena);
  } catch (const OrderedJson::exception& error) {
    reject(file, std::string("is no JSON: ") + error.what());
  }
}

}  // namespace servetwin
