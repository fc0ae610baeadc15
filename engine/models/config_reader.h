// Reads figures of a config.json with their types and ranges checked, under the names that families use.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

namespace servetwin {

// Of several names the first counts that is there and not null. What is wrong throws ConfigError at the file.
class ConfigReader {
 public:
  using Json = nlohmann::json;
  using Names = std::initializer_list<const char*>;

  // The object must outlive the reader.
  ConfigReader(const Json& object, std::string file) : object_(object), file_(std::move(file)) {}

  const Json* find(Names names) const;
  // Whether it is there, null too.
  bool has(const char* name) const;
  std::int64_t count(Names names, std::int64_t absent) const;
  std::int64_t required(Names names) const;
  double number(Names names, double absent) const;
  bool flag(const char* name, bool absent) const;
  std::string text(Names names) const;
  // Empty when absent.
  const Json& list(const char* name) const;
  std::vector<double> positive_numbers(const char* name) const;
  const std::string& file() const { return file_; }

 private:
  [[noreturn]] void fail(const char* code, std::string message, std::string remedy, const char* path) const;
  std::int64_t checked(const Json& value, const char* name) const;

  const Json& object_;
  std::string file_;
};

}  // namespace servetwin
