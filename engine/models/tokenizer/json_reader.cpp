// Every complaint names the path.
#include "engine/models/tokenizer/json_reader.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace servetwin {
namespace {

using Json = nlohmann::json;

constexpr int kMaxDepth = 32;

const Json& json(const void* value) { return *static_cast<const Json*>(value); }

}  // namespace

struct JsonFile::Value {
  Json json;
};

JsonFile::JsonFile(const std::string& text, const std::string& file)
    : value_(std::make_unique<Value>()), file_(file) {
  const TokenizerPlace place{file, ""};
  const auto check_depth = [&place](int depth, Json::parse_event_t, Json&) {
    if (depth > kMaxDepth) reject_tokenizer(place, "is nested too deep");
    return true;
  };
  try {
    value_->json = Json::parse(text, check_depth);
  } catch (const Json::exception& error) {
    reject_tokenizer(place, std::string("is no JSON: ") + error.what());
  }
  if (!value_->json.is_object()) reject_tokenizer(place, "is no JSON object");
}

JsonFile::~JsonFile() = default;

JsonReader JsonFile::root() const { return {&value_->json, {file_, ""}}; }

bool JsonReader::is_text() const { return json(value_).is_string(); }

bool JsonReader::is_object() const { return json(value_).is_object(); }

bool JsonReader::has(const std::string& key) const {
  if (!is_object()) return false;
  const auto found = json(value_).find(key);
  return found != json(value_).end() && !found->is_null();
}

JsonReader JsonReader::at(const std::string& key) const {
  if (!is_object()) reject_tokenizer(place_, "is no object");
  const auto found = json(value_).find(key);
  if (found == json(value_).end()) reject_tokenizer(place_.at(key), "is missing");
  return {&*found, place_.at(key)};
}

std::vector<JsonReader> JsonReader::items() const {
  const Json& list = json(value_);
  if (!list.is_array()) reject_tokenizer(place_, "is no list");
  std::vector<JsonReader> items;
  items.reserve(list.size());
  for (std::size_t i = 0; i < list.size(); ++i) {
    items.push_back({&list[i], place_.at("[" + std::to_string(i) + "]")});
  }
  return items;
}

std::vector<std::string> JsonReader::keys() const {
  if (!is_object()) reject_tokenizer(place_, "is no object");
  std::vector<std::string> keys;
  for (const auto& item : json(value_).items()) keys.push_back(item.key());
  return keys;
}

std::string JsonReader::text() const {
  if (!is_text()) reject_tokenizer(place_, "is no text");
  return json(value_).get<std::string>();
}

bool JsonReader::flag(const std::string& key, bool absent) const {
  if (!has(key)) return absent;
  const JsonReader flag = at(key);
  if (!json(flag.value_).is_boolean()) reject_tokenizer(flag.place(), "is neither true nor false");
  return json(flag.value_).get<bool>();
}

std::int64_t JsonReader::integer() const {
  const Json& number = json(value_);
  const bool fits = number.is_number_unsigned() && number.get<std::uint64_t>() <= INT32_MAX;
  if (!fits) reject_tokenizer(place_, "is no whole number from 0 to 2,147,483,647");
  return number.get<std::int64_t>();
}

void JsonReader::only(const std::vector<std::string>& known) const {
  for (const std::string& key : keys()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    refuse_tokenizer(place_, "the key '" + key + "'");
  }
}

}  // namespace servetwin
