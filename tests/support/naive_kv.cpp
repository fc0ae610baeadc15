// See naive_kv.h. Nothing here is fast on purpose.
#include "tests/support/naive_kv.h"

#include <algorithm>

#include "engine/base/check.h"
#include "engine/base/units.h"

namespace servetwin {

NaiveToken naive_token(const RequestSpec& spec, std::int64_t position) {
  const NaiveToken fresh{(1ULL << 63) | raw(spec.id), position};
  if (spec.content.empty()) return fresh;
  std::int64_t start = 0;
  for (const ContentSegment& segment : spec.content) {
    if (position < start + segment.length.value) return {segment.stream, position - start};
    start += segment.length.value;
  }
  if (!spec.continues_content) return fresh;
  const ContentSegment& last = spec.content.back();
  return {last.stream, last.length.value + (position - start)};
}

NaiveKv::NaiveKv(std::int64_t num_blocks, std::int64_t block_size, bool caching)
    : block_size_(block_size),
      caching_(caching),
      refs_(static_cast<std::size_t>(num_blocks), 0),
      key_of_(static_cast<std::size_t>(num_blocks), 0) {
  for (int block = 1; block < num_blocks; ++block) free_.push_back(block);
}

int NaiveKv::key(const RequestSpec& spec, std::size_t index) {
  std::vector<int>& known = keys_[spec.id];
  while (known.size() <= index) {
    const std::int64_t first = static_cast<std::int64_t>(known.size()) * block_size_;
    std::vector<NaiveToken> tokens;
    for (std::int64_t i = 0; i < block_size_; ++i) tokens.push_back(naive_token(spec, first + i));
    const int parent = known.empty() ? 0 : known.back();
    const std::uint64_t salt = known.empty() ? spec.cache_salt : 0;
    const int number = static_cast<int>(contents_.size()) + 1;
    known.push_back(
        contents_.emplace(Content{parent, tokens, raw(spec.adapter), salt}, number).first->second);
  }
  return known[index];
}

std::vector<int> NaiveKv::lookup(const RequestSpec& spec, std::int64_t tokens) {
  std::vector<int> hit;
  if (!caching_) return hit;
  const std::size_t most = static_cast<std::size_t>((tokens - 1) / block_size_);
  for (std::size_t i = 0; i < most; ++i) {
    const auto found = cached_.find(key(spec, i));
    if (found == cached_.end()) break;
    hit.push_back(found->second.front());
  }
  return hit;
}

std::int64_t NaiveKv::need(RequestId id, const std::vector<int>& hit, std::int64_t tokens) const {
  const auto table = tables_.find(id);
  const std::size_t held = table == tables_.end() ? 0 : table->second.blocks.size();
  std::int64_t blocks = ceil_div(tokens, block_size_) - static_cast<std::int64_t>(held + hit.size());
  blocks = std::max<std::int64_t>(blocks, 0);
  for (const int block : hit) {
    if (references(block) == 0) ++blocks;
  }
  return blocks;
}

void NaiveKv::allocate(RequestId id, const std::vector<int>& hit, std::int64_t tokens) {
  CHECK_INVARIANT(need(id, hit, tokens) <= free_count());
  Table& table = tables_[id];
  for (const int block : hit) {
    if (references(block) == 0) free_.remove(block);
    ++refs_[static_cast<std::size_t>(block)];
    table.blocks.push_back(block);
    ++table.published;
  }
  while (static_cast<std::int64_t>(table.blocks.size()) * block_size_ < tokens) {
    const int block = free_.front();
    free_.pop_front();
    int& old_key = key_of_[static_cast<std::size_t>(block)];
    if (old_key != 0) {
      std::vector<int>& copies = cached_[old_key];
      copies.erase(std::find(copies.begin(), copies.end(), block));
      if (copies.empty()) cached_.erase(old_key);
      old_key = 0;
    }
    refs_[static_cast<std::size_t>(block)] = 1;
    table.blocks.push_back(block);
  }
}

void NaiveKv::publish(const RequestSpec& spec, std::int64_t tokens) {
  if (!caching_) return;
  Table& table = tables_[spec.id];
  while (static_cast<std::int64_t>(table.published + 1) * block_size_ <= tokens) {
    const int block = table.blocks[table.published];
    const int content = key(spec, table.published);
    key_of_[static_cast<std::size_t>(block)] = content;
    cached_[content].push_back(block);
    ++table.published;
  }
}

void NaiveKv::release(RequestId id) {
  const std::vector<int> blocks = block_ids(id);
  for (auto block = blocks.rbegin(); block != blocks.rend(); ++block) {
    if (--refs_[static_cast<std::size_t>(*block)] == 0) free_.push_back(*block);
  }
  tables_.erase(id);
}

bool NaiveKv::reset() {
  if (used_count() != 0) return false;
  cached_.clear();
  std::fill(key_of_.begin(), key_of_.end(), 0);
  return true;
}

std::vector<int> NaiveKv::block_ids(RequestId id) const {
  const auto table = tables_.find(id);
  return table == tables_.end() ? std::vector<int>{} : table->second.blocks;
}

}  // namespace servetwin
