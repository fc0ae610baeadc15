// The words after a verb, declared once: parsing, help and suggestions follow from the declaration.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace servetwin {

// A command line that makes no sense; exit code 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// " (did you mean X?)", or nothing when no candidate is near.
std::string suggestion(const std::string& word, const std::vector<std::string>& candidates);

class Arguments {
 public:
  Arguments(const std::string& verb, const std::string& help);
  ~Arguments();
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;

  // The variables are set by parse() and must live as long as this. Options may stand anywhere.
  void word(const std::string& name, std::string& value, const std::string& help);
  void optional_word(const std::string& name, std::string& value, const std::string& help);
  void words(const std::string& name, std::vector<std::string>& values, const std::string& help);
  void optional_words(const std::string& name, std::vector<std::string>& values, const std::string& help);
  void flag(const std::string& name, bool& value, const std::string& help);
  void option(const std::string& name,
              const std::string& value_name,
              std::string& value,
              const std::string& help);
  // May be given several times.
  void repeated(const std::string& name,
                const std::string& value_name,
                std::vector<std::string>& values,
                const std::string& help);

  // False when the help was asked for instead. Throws UsageError.
  bool parse(std::vector<std::string> given);
  std::string help() const;

 private:
  struct Parser;

  [[noreturn]] void refuse(const std::string& what) const;
  void refuse_unknown() const;

  std::string verb_;
  std::unique_ptr<Parser> parser_;
};

}  // namespace servetwin
