// If this fails, times or amounts are rounded wrongly at their one conversion, or units can be mixed up.
#include <type_traits>

#include "engine/base/config_node.h"
#include "engine/base/ids.h"
#include "engine/base/time.h"
#include "engine/base/units.h"
#include "tests/support/catch.h"

namespace servetwin::quantities_test {
namespace {

template <class A, class B>
concept Addable = requires(A a, B b) {
  a + b;
};

TEST_CASE("quantities of different kinds cannot be added, compared or taken for one another") {
  STATIC_REQUIRE(Addable<Tokens, Tokens>);
  STATIC_REQUIRE(!Addable<Tokens, Bytes>);
  STATIC_REQUIRE(!Addable<Tokens, int>);
  STATIC_REQUIRE(!std::is_convertible_v<int, Tokens>);
  STATIC_REQUIRE(!std::is_convertible_v<Tokens, Blocks>);
  STATIC_REQUIRE(!std::is_convertible_v<RequestId, std::uint32_t>);
  STATIC_REQUIRE(!Addable<RequestId, int>);
}

TEST_CASE("seconds become the nearest nanosecond, halves away from zero") {
  CHECK(duration_from_seconds(1.5) == Duration{1'500'000'000});
  CHECK(duration_from_seconds(0.5e-9) == Duration{1});
  CHECK(duration_from_seconds(-0.5e-9) == Duration{-1});
  CHECK(duration_from_seconds(0.4e-9) == Duration{0});
  CHECK(duration_from_ns(2.5) == Duration{3});
}

TEST_CASE("blocks for tokens round up, and none are needed for none") {
  CHECK(blocks_for(Tokens{0}, Tokens{16}) == Blocks{0});
  CHECK(blocks_for(Tokens{1}, Tokens{16}) == Blocks{1});
  CHECK(blocks_for(Tokens{16}, Tokens{16}) == Blocks{1});
  CHECK(blocks_for(Tokens{17}, Tokens{16}) == Blocks{2});
}

TEST_CASE("a node finds its entry by name and says when there is none") {
  ConfigNode map;
  map.kind = ConfigNode::Kind::kMap;
  map.entries.emplace_back("a", ConfigNode{});
  map.entries.back().second.text = "1";
  REQUIRE(map.find("a") != nullptr);
  CHECK(map.find("a")->text == "1");
  CHECK(map.find("b") == nullptr);
}

}  // namespace
}  // namespace servetwin::quantities_test
