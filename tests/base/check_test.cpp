// If this fails, a broken invariant goes unnoticed or its message does not say how to replay it.
#include "engine/base/check.h"

#include "engine/base/ids.h"
#include "engine/base/time.h"
#include "engine/base/units.h"
#include "tests/support/catch.h"
#include "tests/support/check_throws.h"

namespace servetwin::check_test {
namespace {

std::string message_of_failure() {
  try {
    CHECK_INVARIANT(1 + 1 == 3, Tokens{7}, RequestId{9}, time_at_ns(55), Duration{66});
  } catch (const BrokenInvariant& error) {
    return error.what();
  }
  return {};
}

TEST_CASE("a broken invariant reports expression, values, seed, time and event") {
  make_checks_throw();
  check_context() = {123, 456, 789};
  const std::string message = message_of_failure();
  check_context() = {};
  CHECK(message.find("1 + 1 == 3") != std::string::npos);
  CHECK(message.find("check_test.cpp:") != std::string::npos);
  CHECK(message.find("with 7 9 55 66") != std::string::npos);
  CHECK(message.find("(seed 123, time 456 ns, event 789)") != std::string::npos);
}

TEST_CASE("an invariant that holds evaluates its condition once and none of its values") {
  make_checks_throw();
  int conditions = 0;
  int values = 0;
  CHECK_INVARIANT(++conditions == 1, ++values);
  CHECK(conditions == 1);
  CHECK(values == 0);
}

}  // namespace
}  // namespace servetwin::check_test
