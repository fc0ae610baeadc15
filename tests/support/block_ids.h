// Physical ids of blocks, as a block-level free list would hand them out, followed by a KV listener.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "engine/base/check.h"
#include "engine/serving/kv_group.h"

namespace servetwin {

class BlockIds final : public KvListener {
 public:
  explicit BlockIds(std::int64_t num_blocks) {
    for (int id = 1; id < num_blocks; ++id) free_.push_back(id);
  }

  void on_allocate(OwnerSlot owner, std::int32_t first, std::int32_t count) override {
    for (std::int32_t i = first; i < first + count; ++i) {
      ids_[{owner, i}] = free_.front();
      free_.pop_front();
    }
  }

  void on_touch(OwnerSlot owner, std::int32_t first, std::int32_t count) override {
    for (std::int32_t i = first; i < first + count; ++i) {
      const std::size_t removed = std::erase(free_, id(owner, i));
      CHECK_INVARIANT(removed == 1);
    }
  }

  void on_free(OwnerSlot owner, std::int32_t first, std::int32_t count) override {
    for (std::int32_t i = first + count; i-- > first;) free_.push_back(id(owner, i));
  }

  int id(OwnerSlot owner, std::int32_t index) const { return ids_.at({owner, index}); }
  std::vector<int> free() const { return {free_.begin(), free_.end()}; }

 private:
  std::deque<int> free_;
  std::map<std::pair<OwnerSlot, std::int32_t>, int> ids_;
};

}  // namespace servetwin
