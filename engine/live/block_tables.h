// Which physical block holds which part of whose sequence: a block-level free list that follows the core's
// extents.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/serving/kv_extent.h"

namespace servetwin {

// Ids run from 1 to num_blocks - 1; block 0 is the null block. A freed block keeps its content, and its id
// stays known under its owner, until it is handed out again: prefix hits find it there.
class BlockTables final : public KvListener {
 public:
  explicit BlockTables(std::int64_t num_blocks);

  void on_allocate(OwnerSlot owner, std::int32_t first, std::int32_t count) override;
  void on_touch(OwnerSlot owner, std::int32_t first, std::int32_t count) override;
  void on_free(OwnerSlot owner, std::int32_t first, std::int32_t count) override;

  // Of a block that the owner holds or that a hit found under its name.
  std::int32_t id(OwnerSlot owner, std::int32_t index) const;
  std::int64_t num_free() const { return num_free_; }

 private:
  void unlink(std::int32_t id);
  void append(std::int32_t id);

  std::vector<std::vector<std::int32_t>> ids_;  // by owner, then by index in its sequence
  std::vector<std::int32_t> prev_;              // the free list, a ring through block 0; -1: in use
  std::vector<std::int32_t> next_;
  std::int64_t num_free_ = 0;
};

}  // namespace servetwin
