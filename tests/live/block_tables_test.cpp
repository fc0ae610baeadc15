// If these fail, the model reads keys from other blocks than the core shares, or two sequences write into
// one.
#include "engine/live/block_tables.h"

#include "engine/base/rng.h"
#include "engine/live/content_text.h"
#include "tests/support/block_ids.h"
#include "tests/support/catch.h"

namespace servetwin::block_tables_test {
namespace {

TEST_CASE("ids are those of a block-level free list, whatever is allocated, freed and found again") {
  constexpr int kBlocks = 40;
  BlockTables tables(kBlocks);
  BlockIds list(kBlocks);
  struct Owner {
    std::int32_t held = 0;
    bool freed = false;
  };
  std::vector<Owner> owners(200);
  std::int64_t free = kBlocks - 1;
  for (std::uint32_t step = 0; step < 3000; ++step) {
    const StreamKey key{4, Stream::kTest, 0};
    const auto pick = static_cast<OwnerSlot>(draw_u64(key, step, 0) % owners.size());
    const auto count = static_cast<std::int32_t>(1 + draw_u64(key, step, 1) % 4);
    Owner& owner = owners[pick];
    if (!owner.freed && owner.held + count <= 12 && count <= free) {
      for (KvListener* one : {static_cast<KvListener*>(&tables), static_cast<KvListener*>(&list)}) {
        one->on_allocate(pick, owner.held, count);
      }
      owner.held += count;
      free -= count;
      for (std::int32_t i = 0; i < owner.held; ++i) CHECK(tables.id(pick, i) == list.id(pick, i));
    } else if (!owner.freed && owner.held > 0) {
      for (KvListener* one : {static_cast<KvListener*>(&tables), static_cast<KvListener*>(&list)}) {
        one->on_free(pick, 0, owner.held);
        one->on_touch(pick, 0, 1);  // a hit on its first block, at once
        one->on_free(pick, 0, 1);
      }
      free += owner.held;
      owner = {};
    }
    CHECK(tables.num_free() == free);
  }
}

TEST_CASE("equal segments are equal tokens, and generated text takes the place of synthetic text") {
  ContentText text(1, 100);
  RequestSpec first;
  first.id = RequestId{1};
  first.prompt = Tokens{12};
  first.content = {{5, Tokens{8}}, {6, Tokens{4}}};
  first.continues_content = true;
  RequestSpec second = first;
  second.id = RequestId{2};
  second.prompt = Tokens{20};
  second.content.back().length = Tokens{12};
  const std::vector<TokenId> before = text.prompt(second);
  const std::vector<TokenId> of_first = text.prompt(first);
  CHECK(std::equal(of_first.begin(), of_first.end(), before.begin()));
  const TextPlace place = generated_place(first);
  CHECK(place.stream == 6);
  CHECK(place.offset == 4);
  CHECK(place.shared);
  text.put_generated(place.stream, place.offset, 100);
  std::vector<TokenId> after = text.prompt(second);
  CHECK(after[12] == 100);
  after[12] = before[12];
  CHECK(after == before);
  RequestSpec alone;
  alone.id = RequestId{3};
  alone.prompt = Tokens{12};
  CHECK_FALSE(generated_place(alone).shared);
  RequestSpec other = alone;
  other.id = RequestId{4};
  CHECK(text.prompt(alone) != text.prompt(other));
}

}  // namespace
}  // namespace servetwin::block_tables_test
