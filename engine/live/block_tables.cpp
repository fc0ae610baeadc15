// The null block is the free list's anchor: it is never handed out.
#include "engine/live/block_tables.h"

#include "engine/base/check.h"

namespace servetwin {

BlockTables::BlockTables(std::int64_t num_blocks)
    : prev_(static_cast<std::size_t>(num_blocks), -1), next_(static_cast<std::size_t>(num_blocks), -1) {
  prev_[0] = next_[0] = 0;
  for (std::int64_t id = 1; id < num_blocks; ++id) append(static_cast<std::int32_t>(id));
}

void BlockTables::append(std::int32_t id) {
  const auto at = static_cast<std::size_t>(id);
  CHECK_INVARIANT(prev_[at] == -1, id);
  const std::int32_t last = prev_[0];
  prev_[at] = last;
  next_[at] = 0;
  next_[static_cast<std::size_t>(last)] = id;
  prev_[0] = id;
  ++num_free_;
}

void BlockTables::unlink(std::int32_t id) {
  const auto at = static_cast<std::size_t>(id);
  CHECK_INVARIANT(id > 0 && prev_[at] != -1, id);
  next_[static_cast<std::size_t>(prev_[at])] = next_[at];
  prev_[static_cast<std::size_t>(next_[at])] = prev_[at];
  prev_[at] = next_[at] = -1;
  --num_free_;
}

void BlockTables::on_allocate(OwnerSlot owner, std::int32_t first, std::int32_t count) {
  if (owner >= ids_.size()) ids_.resize(owner + std::size_t{1});
  std::vector<std::int32_t>& ids = ids_[owner];
  const auto end = static_cast<std::size_t>(first + count);
  if (ids.size() < end) ids.resize(end, 0);
  for (auto index = static_cast<std::size_t>(first); index < end; ++index) {
    ids[index] = next_[0];
    unlink(next_[0]);
  }
}

void BlockTables::on_touch(OwnerSlot owner, std::int32_t first, std::int32_t count) {
  for (std::int32_t index = first; index < first + count; ++index) unlink(id(owner, index));
}

void BlockTables::on_free(OwnerSlot owner, std::int32_t first, std::int32_t count) {
  for (std::int32_t index = first + count; index-- > first;) append(id(owner, index));
}

std::int32_t BlockTables::id(OwnerSlot owner, std::int32_t index) const {
  CHECK_INVARIANT(owner < ids_.size(), owner);
  CHECK_INVARIANT(static_cast<std::size_t>(index) < ids_[owner].size(), owner, index);
  return ids_[owner][static_cast<std::size_t>(index)];
}

}  // namespace servetwin
