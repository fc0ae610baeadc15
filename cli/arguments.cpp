// The only file that knows CLI11. What it lacks is added here: suggestions, one exit code, plain messages.
#include "cli/arguments.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "engine/base/error.h"

namespace servetwin {

struct Arguments::Parser {
  CLI::App app;
  std::vector<std::string> options;  // names with their dashes
};

std::string suggestion(const std::string& word, const std::vector<std::string>& candidates) {
  const std::string nearest = nearest_name(word, candidates);
  return nearest.empty() ? "" : " (did you mean " + nearest + "?)";
}

Arguments::Arguments(const std::string& verb, const std::string& help)
    : verb_(verb), parser_(std::make_unique<Parser>()) {
  CLI::App& app = parser_->app;
  app.name("servetwin " + verb);
  app.description(help);
  app.set_help_flag("-h,--help", "Prints this text.");
  app.allow_extras();
  parser_->options = {"--help", "-h"};
}

Arguments::~Arguments() = default;

namespace {

// What a variable that was never set leaves behind is no word.
void refuse_empty(CLI::Option& option) {
  option.check(
      [](const std::string& word) { return word.empty() ? std::string("is empty") : std::string(); });
}

}  // namespace

void Arguments::word(const std::string& name, std::string& value, const std::string& help) {
  refuse_empty(*parser_->app.add_option(name, value, help)->required()->type_name(""));
}

void Arguments::optional_word(const std::string& name, std::string& value, const std::string& help) {
  refuse_empty(*parser_->app.add_option(name, value, help)->type_name(""));
}

void Arguments::words(const std::string& name, std::vector<std::string>& values, const std::string& help) {
  refuse_empty(*parser_->app.add_option(name, values, help)->required()->type_name(""));
}

void Arguments::optional_words(const std::string& name,
                               std::vector<std::string>& values,
                               const std::string& help) {
  refuse_empty(*parser_->app.add_option(name, values, help)->type_name(""));
}

void Arguments::flag(const std::string& name, bool& value, const std::string& help) {
  parser_->options.push_back(name);
  parser_->app.add_flag(name, value, help);
}

void Arguments::option(const std::string& name,
                       const std::string& value_name,
                       std::string& value,
                       const std::string& help) {
  parser_->options.push_back(name);
  refuse_empty(*parser_->app.add_option(name, value, help)->type_name(value_name));
}

void Arguments::repeated(const std::string& name,
                         const std::string& value_name,
                         std::vector<std::string>& values,
                         const std::string& help) {
  parser_->options.push_back(name);
  parser_->app.add_option(name, values, help)->type_name(value_name)->allow_extra_args(false);
}

bool Arguments::parse(std::vector<std::string> given) {
  std::reverse(given.begin(), given.end());  // CLI11 takes words from the back
  try {
    parser_->app.parse(std::move(given));
  } catch (const CLI::CallForHelp&) {
    return false;
  } catch (const CLI::ParseError& error) {
    refuse_unknown();
    refuse(error.what());
  }
  refuse_unknown();
  return true;
}

std::string Arguments::help() const { return parser_->app.help(); }

void Arguments::refuse(const std::string& what) const {
  throw UsageError("servetwin " + verb_ + ": " + what + "\n`servetwin " + verb_ +
                   " --help` shows what it takes");
}

// A misspelt option is the better message than what is missing because of it.
void Arguments::refuse_unknown() const {
  const std::vector<std::string> left = parser_->app.remaining();
  const auto is_option = [](const std::string& text) { return text.size() > 1 && text[0] == '-'; };
  const auto option = std::find_if(left.begin(), left.end(), is_option);
  if (option != left.end()) {
    const std::string name = option->substr(0, option->find('='));
    refuse("unknown option " + name + suggestion(name, parser_->options));
  }
  if (!left.empty()) refuse("one word too many: " + left.front());
}

}  // namespace servetwin
