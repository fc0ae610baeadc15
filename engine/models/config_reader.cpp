// Counts end at a thousand million, numbers at a million million: whatever is larger is no model's.
#include "engine/models/config_reader.h"

#include <nlohmann/json.hpp>

#include "engine/base/error.h"
#include "engine/base/params.h"

namespace servetwin {
namespace {

constexpr std::int64_t kMaxCount = 1'000'000'000;
constexpr double kMaxNumber = 1e12;

}  // namespace

void ConfigReader::fail(const char* code, std::string message, std::string remedy, const char* path) const {
  throw ConfigError(Problem{code, SourcePlace{file_, 0, 0}, path, std::move(message), std::move(remedy)});
}

const ConfigReader::Json* ConfigReader::find(Names names) const {
  for (const char* name : names) {
    const auto found = object_.find(name);
    if (found != object_.end() && !found->is_null()) return &*found;
  }
  return nullptr;
}

bool ConfigReader::has(const char* name) const { return object_.contains(name); }

std::int64_t ConfigReader::count(Names names, std::int64_t absent) const {
  const Json* value = find(names);
  return value == nullptr ? absent : checked(*value, *names.begin());
}

std::int64_t ConfigReader::required(Names names) const {
  const Json* value = find(names);
  if (value == nullptr) {
    fail(kCodeMissing, "is missing", "a Hugging Face config.json has it", *names.begin());
  }
  return checked(*value, *names.begin());
}

double ConfigReader::number(Names names, double absent) const {
  const Json* value = find(names);
  if (value == nullptr) return absent;
  const double number = value->is_number() ? value->get<double>() : 0.0;
  const bool in_range = number > 0 && number <= kMaxNumber;
  if (!in_range)
    fail(kCodeOutOfRange, "is " + value->dump(), "a number above 0, at most 1e12", *names.begin());
  return number;
}

bool ConfigReader::flag(const char* name, bool absent) const {
  const Json* value = find({name});
  if (value == nullptr) return absent;
  if (!value->is_boolean()) fail(kCodeWrongType, "is " + value->dump() + ", not true or false", "", name);
  return value->get<bool>();
}

std::string ConfigReader::text(Names names) const {
  const Json* value = find(names);
  return value != nullptr && value->is_string() ? value->get<std::string>() : std::string();
}

const ConfigReader::Json& ConfigReader::list(const char* name) const {
  static const Json kNone = Json::array();
  const Json* value = find({name});
  if (value == nullptr) return kNone;
  if (!value->is_array()) fail(kCodeWrongType, "is " + value->dump() + ", no list", "", name);
  return *value;
}

std::vector<double> ConfigReader::positive_numbers(const char* name) const {
  std::vector<double> numbers;
  for (const Json& value : list(name)) {
    const double number = value.is_number() ? value.get<double>() : 0.0;
    const bool in_range = number > 0 && number <= kMaxNumber;
    if (!in_range) fail(kCodeOutOfRange, "has " + value.dump(), "numbers above 0, at most 1e12", name);
    numbers.push_back(number);
  }
  return numbers;
}

std::int64_t ConfigReader::checked(const Json& value, const char* name) const {
  if (!value.is_number_integer())
    fail(kCodeWrongType, "is " + value.dump() + ", not a whole number", "", name);
  const std::int64_t number = value.get<std::int64_t>();
  const bool in_range = number >= 0 && number <= kMaxCount;
  if (!in_range) fail(kCodeOutOfRange, "is " + value.dump(), "a count from 0 to 1,000,000,000", name);
  return number;
}

}  // namespace servetwin
