// If this fails, the prefix cache loses blocks it holds or finds blocks it does not.
#include "engine/base/flat_map.h"

#include <map>
#include <rapidcheck.h>

#include "tests/support/catch.h"

namespace servetwin::flat_map_test {
namespace {

// A key of 128 bits whose hash has few values and lies at the table's end, so that probes run long and wrap.
struct ClashingKey {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  friend auto operator<=>(const ClashingKey&, const ClashingKey&) = default;
};

std::uint64_t hash_of(const ClashingKey& key) { return ~(key.low % 4); }

TEST_CASE("a key that was inserted is found, one that was not or was erased is not") {
  FlatMap<std::uint64_t, int> map;
  CHECK(map.find(5) == nullptr);
  CHECK_FALSE(map.erase(5));
  CHECK(map.insert(5, 50).second);
  CHECK_FALSE(map.insert(5, 51).second);
  REQUIRE(map.find(5) != nullptr);
  CHECK(*map.find(5) == 50);
  CHECK(map.erase(5));
  CHECK(map.find(5) == nullptr);
  CHECK(map.empty());
}

TEST_CASE("reserving keeps what is there and clearing drops it") {
  FlatMap<std::uint64_t, int> map;
  for (std::uint64_t key = 0; key < 1000; ++key) map.insert(key, static_cast<int>(key));
  map.reserve(100'000);
  CHECK(map.size() == 1000);
  for (std::uint64_t key = 0; key < 1000; ++key) REQUIRE(*map.find(key) == static_cast<int>(key));
  map.clear();
  CHECK(map.size() == 0);
  CHECK(map.find(1) == nullptr);
}

TEST_CASE("any sequence of inserts and erases leaves what an ordered map holds, even under clashing hashes") {
  CHECK(rc::check([](const std::vector<std::pair<bool, std::uint8_t>>& operations) {
    FlatMap<ClashingKey, std::size_t> map;
    std::map<ClashingKey, std::size_t> model;
    for (std::size_t i = 0; i < operations.size(); ++i) {
      const ClashingKey key{operations[i].second % 3U, operations[i].second % 16U};
      if (operations[i].first) {
        RC_ASSERT(map.insert(key, i).second == model.emplace(key, i).second);
      } else {
        RC_ASSERT(map.erase(key) == (model.erase(key) == 1));
      }
      RC_ASSERT(map.size() == model.size());
    }
    for (std::uint64_t high = 0; high < 3; ++high) {
      for (std::uint64_t low = 0; low < 16; ++low) {
        const auto expected = model.find({high, low});
        const std::size_t* found = map.find({high, low});
        RC_ASSERT((found != nullptr) == (expected != model.end()));
        if (found != nullptr) RC_ASSERT(*found == expected->second);
      }
    }
  }));
}

}  // namespace
}  // namespace servetwin::flat_map_test
