// A failure here means that a model would be given another prompt than the one it was trained on.
#include "engine/models/chat_template/chat_template.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "engine/base/error.h"
#include "tests/support/catch.h"
#include "tests/support/tokenizer_oracle.h"

namespace servetwin::chat_template_test {
namespace {

using Json = nlohmann::ordered_json;

const Json& oracle() {
  static const Json kOracle =
      Json::parse(read_whole_file(SERVETWIN_SOURCE_DIR "/tests/oracles/chat_templates.json"));
  return kOracle;
}

std::optional<std::string> rendered(const std::string& source, const std::string& variables) {
  const ChatTemplate chat(source, "t.jinja");
  try {
    return chat.render(variables);
  } catch (const ConfigError&) {
    return std::nullopt;
  }
}

void compare(const std::string& source, const Json& row) {
  INFO(source << "\n" << row.at("variables").dump());
  const std::optional<std::string> got = rendered(source, row.at("variables").dump());
  CHECK(got.has_value() == row.contains("expected"));
  if (got && row.contains("expected")) CHECK(*got == row.at("expected").get<std::string>());
}

Problem problem_of(const std::string& source, const std::string& variables = "{}") {
  try {
    ChatTemplate(source, "t.jinja").render(variables);
  } catch (const ConfigError& error) {
    return error.problems().front();
  }
  return {};
}

}  // namespace

TEST_CASE("templates in the manner of each family give what Jinja gives, and refuse what it refuses") {
  std::size_t refused = 0;
  for (const Json& row : oracle().at("conversations")) {
    compare(oracle().at("templates").at(row.at("family").get<std::string>()), row);
    refused += row.contains("error") ? 1U : 0U;
  }
  CHECK(oracle().at("conversations").size() == 270);
  CHECK(refused == 66);
}

TEST_CASE("each construct of the language means what it means in Jinja") {
  CHECK(oracle().at("snippets").size() == 58);
  for (const Json& row : oracle().at("snippets")) compare(row.at("template"), row);
}

TEST_CASE("what a template asks beyond the subset is refused by its name and line") {
  const auto [source, name] = GENERATE(table<std::string, std::string>({
      {"a\n{% macro m() %}{% endmacro %}", "'macro'"},
      {"a\n{% include 'x' %}", "'include'"},
      {"a\n{% raw %}{% endraw %}", "'raw'"},
      {"a\n{% generation %}", "'generation'"},
      {"a\n{% break %}", "'break'"},
      {"\n{{ x|sort }}", "'sort'"},
      {"\n{{ x is sameas none }}", "'sameas'"},
      {"\n{{ x.format(1) }}", "'format'"},
      {"\n{{ cycler(1) }}", "'cycler'"},
      {"\n{% set a %}x{% endset %}", "'set' of a block"},
      {"\n{% set a, b = 1, 2 %}", "'set' of several names"},
      {"\n{% for a in b recursive %}{% endfor %}", "'recursive'"},
      {"\n{{ 2 ** 3 }}", "'**'"},
      {"\n{{ '\\N{DIGIT ONE}' }}", "\\N"},
      {"\n{{ strftime_now('%d') }}", "strftime_now"},
      {"\n{{ 'É'|lower }}", "beyond ASCII"},
  }));
  const Problem problem = problem_of(source);
  INFO(source << " gives " << problem.message);
  CHECK(problem.message.find(name) != std::string::npos);
  CHECK(problem.message.find("not supported") != std::string::npos);
  CHECK(problem.place.line == 2);
  CHECK(problem.place.file == "t.jinja");
}

TEST_CASE("a template that is wrong is rejected with its line") {
  const char* source =
      GENERATE("\n{% if x %}", "\n{{ x", "\n{{ }}", "\n{{ 'x }}", "\n{% endfor %}", "\n{{ (1 }}",
               "\n{{ 1 2 }}", "\n{{ a[] }}", "\n{% for in x %}", "\n{# x", "\n{{ ) }}", "\n{{ 1a }}",
               "\n{{ 99999999999999999999 }}", "\n{% if x %}{% else %}{% else %}{% endif %}");
  INFO(source);
  const Problem problem = problem_of(source);
  CHECK(!problem.message.empty());
  CHECK(problem.place.line == 2);
}

TEST_CASE("the message of raise_exception reaches the caller") {
  CHECK(problem_of("{{ raise_exception('Roles ' ~ 'alternate') }}").message.find("Roles alternate") !=
        std::string::npos);
}

TEST_CASE("a template cannot work without end, grow without bound or nest without depth") {
  std::string chain = "0";
  for (int i = 0; i < 300; ++i) chain += " or 0";
  const std::string busy = "{% for i in range(9000) %}{% if " + chain + " %}{% endif %}{% endfor %}";
  CHECK(problem_of(busy).message.find("too many steps") != std::string::npos);
  const std::string nested = "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}";
  CHECK(problem_of(nested).message.find("too much memory") != std::string::npos);
  const std::string doubling =
      "{% set ns = namespace(a='0123456789abcdef') %}{% for i in range(64) %}{% set ns.a = ns.a ~ ns.a %}{% "
      "endfor %}";
  CHECK(problem_of(doubling).message.find("too much memory") != std::string::npos);
  CHECK(problem_of("{% for i in range(999999999) %}{% endfor %}").message.find("too large") !=
        std::string::npos);
  const std::string deep = std::string(100'000, '(') + "1" + std::string(100'000, ')');
  CHECK(problem_of("{{ " + deep + " }}").message.find("too deep") != std::string::npos);
  const std::string lists = std::string(100'000, '[') + std::string(100'000, ']');
  CHECK(problem_of("{{ " + lists + " }}").message.find("too deep") != std::string::npos);
  std::string minus = "{{ ";
  for (int i = 0; i < 100'000; ++i) minus += "not ";
  CHECK(problem_of(minus + "1 }}").message.find("too deep") != std::string::npos);
  for (const char* link : {" ~ 1", " or 0", " if 1", "|list", ".a", " is defined"}) {
    std::string links = "{{ 1";
    for (int i = 0; i < 50'000; ++i) links += link;
    INFO(link);
    CHECK(problem_of(links + " }}").message.find("too long") != std::string::npos);
  }
  std::string blocks;
  for (int i = 0; i < 1000; ++i) blocks += "{% if 1 %}";
  CHECK(problem_of(blocks).message.find("too deep") != std::string::npos);
  const std::string json = "{\"a\":" + std::string(1000, '[') + std::string(1000, ']') + "}";
  CHECK(problem_of("x", json).message.find("too deep") != std::string::npos);
}

}  // namespace servetwin::chat_template_test
