// Whole blocks, one after the other.
#include "engine/live/host_tier.h"

#include "engine/base/check.h"

namespace servetwin {

void HostTier::put(const BlockCopy& blocks, KvPool& pool) {
  const Blocks count{static_cast<std::int64_t>(blocks.ids.size())};
  CHECK_INVARIANT(blocks.first == 0 && count <= free_, raw(blocks.request), count, free_);
  block_bytes_ = pool.block_bytes();
  std::vector<std::byte> copy(blocks.ids.size() * block_bytes_);
  for (std::size_t i = 0; i < blocks.ids.size(); ++i)
    pool.read_block(blocks.ids[i], copy.data() + i * block_bytes_);
  const bool is_new = copies_.emplace(blocks.request, std::move(copy)).second;
  CHECK_INVARIANT(is_new, raw(blocks.request));
  free_ -= count;
}

void HostTier::take(const BlockCopy& blocks, KvPool& pool) {
  const auto copy = copies_.find(blocks.request);
  CHECK_INVARIANT(copy != copies_.end(), raw(blocks.request));
  const auto first = static_cast<std::size_t>(blocks.first);
  CHECK_INVARIANT((first + blocks.ids.size()) * block_bytes_ == copy->second.size(), raw(blocks.request),
                  first);
  for (std::size_t i = 0; i < blocks.ids.size(); ++i) {
    pool.write_block(blocks.ids[i], copy->second.data() + (first + i) * block_bytes_);
  }
  drop(blocks.request);
}

void HostTier::drop(RequestId request) {
  const auto copy = copies_.find(request);
  if (copy == copies_.end()) return;
  free_ += Blocks{static_cast<std::int64_t>(copy->second.size() / block_bytes_)};
  copies_.erase(copy);
}

}  // namespace servetwin
