// If one of these failed, docs/extending.md would show a rule that does not compile, register or work.
#include <chrono>

#include "engine/base/registry.h"
#include "engine/serving/preset.h"
#include "tests/support/catch.h"

namespace servetwin::rule_of_the_page_test {
namespace {

using namespace std::chrono_literals;

RequestSpec request(std::uint32_t id, Duration arrival, std::int64_t prompt) {
  RequestSpec spec;
  spec.id = RequestId{id};
  spec.arrival = kTimeZero + arrival;
  spec.prompt = Tokens{prompt};
  return spec;
}

bool goes_first(const WaitingOrder& order, const RequestSpec& a, const RequestSpec& b) {
  const bool a_first = order.before({&a, 0}, {&b, 1});
  CHECK(order.before({&b, 1}, {&a, 0}) == !a_first);
  return a_first;
}

RuleSet rules_of_the_page() {
  RuleNames names;
  names.waiting_order = "shortest_first";
  return make_rules(names);
}

}  // namespace

TEST_CASE("the rule shown in docs/extending.md is found by its name and has its parameters") {
  const auto* entry = Registry<WaitingOrder>::instance().find("shortest_first");
  REQUIRE(entry != nullptr);
  const std::vector<FieldInfo> fields = entry->fields();
  REQUIRE(fields.size() == 2);
  CHECK(fields[0].name == "per_token");
  CHECK(fields[1].default_text == "30s");
}

TEST_CASE("the rule shown in docs/extending.md puts short prompts first and bounds how long others wait") {
  const RuleSet rules = rules_of_the_page();
  const WaitingOrder& order = *rules.waiting_order;
  const RequestSpec document = request(1, 0s, 100'000);
  CHECK(goes_first(order, request(2, 29s, 999), document));
  CHECK_FALSE(goes_first(order, request(2, 30s, 1), document));
  CHECK(goes_first(order, request(1, 0s, 500), request(2, 0s, 500)));
}

}  // namespace servetwin::rule_of_the_page_test
