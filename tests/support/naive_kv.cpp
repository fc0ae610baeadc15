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

NaiveKv::NaiveKv(const EngineConfig& engine)
    : block_size_(engine.block_size.value),
      budget_(engine.max_num_batched_tokens.value),
      caching_(engine.prefix_caching),
      groups_(engine.kv_groups),
      refs_(static_cast<std::size_t>(engine.num_blocks.value), 0),
      key_of_(refs_.size(), 0) {
  if (groups_.empty()) groups_.push_back({});
  for (int block = 1; block < engine.num_blocks.value; ++block) free_.push_back(block);
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

bool NaiveKv::sees(std::size_t group, std::int64_t position, std::int64_t index) const {
  const KvRetention& keeps = groups_[group];
  const std::int64_t first = index * block_size_;
  const std::int64_t last = first + block_size_ - 1;
  if (keeps.window.value == 0 || first < keeps.sink.value) return true;
  return last > position - keeps.window.value;
}

NaiveTables NaiveKv::lookup(const RequestSpec& spec, std::int64_t tokens) {
  const std::int64_t most = caching_ ? (tokens - 1) / block_size_ : 0;
  NaiveTables hit(groups_.size());
  for (std::int64_t length = most; length > 0; --length) {
    bool complete = true;
    for (std::size_t group = 0; group < groups_.size(); ++group) {
      hit[group].assign(static_cast<std::size_t>(length), 0);
      for (std::int64_t i = 0; i < length; ++i) {
        if (!sees(group, length * block_size_, i)) continue;
        const auto found = cached_.find(key_in(key(spec, static_cast<std::size_t>(i)), group));
        if (found == cached_.end()) {
          complete = false;
        } else {
          hit[group][static_cast<std::size_t>(i)] = found->second.front();
        }
      }
    }
    if (complete) return hit;
  }
  return NaiveTables(groups_.size());
}

std::int64_t NaiveKv::most_of(std::size_t group, std::int64_t blocks) const {
  const KvRetention& keeps = groups_[group];
  if (keeps.window.value == 0) return blocks;
  const std::int64_t rolling = ceil_div(keeps.window.value - 1 + budget_, block_size_) + 1;
  return std::min(blocks, ceil_div(keeps.sink.value, block_size_) + rolling);
}

std::int64_t NaiveKv::most(std::int64_t tokens) const {
  std::int64_t all = 0;
  for (std::size_t group = 0; group < groups_.size(); ++group)
    all += most_of(group, ceil_div(tokens, block_size_));
  return all;
}

std::int64_t NaiveKv::need(RequestId id, const NaiveTables& hit, std::int64_t tokens, bool at_once) const {
  const auto sequence = sequences_.find(id);
  std::int64_t blocks = 0;
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    std::size_t held = sequence == sequences_.end() ? 0 : sequence->second.tables[group].size();
    if (!hit.empty()) held += hit[group].size();
    std::int64_t taken = ceil_div(tokens, block_size_) - static_cast<std::int64_t>(held);
    taken = std::max<std::int64_t>(taken, 0);
    if (!hit.empty()) {
      for (const int block : hit[group]) taken += block > 0 && references(block) == 0 ? 1 : 0;
    }
    blocks += at_once ? most_of(group, taken) : taken;
  }
  return blocks;
}

void NaiveKv::allocate(RequestId id, const NaiveTables& hit, std::int64_t tokens) {
  CHECK_INVARIANT(need(id, hit, tokens) <= free_count());
  Sequence& sequence = sequences_[id];
  sequence.tables.resize(groups_.size());
  for (std::size_t group = 0; group < hit.size(); ++group) {
    for (const int block : hit[group]) {
      sequence.tables[group].push_back(block);
      if (block == 0) continue;
      if (references(block) == 0) free_.remove(block);
      ++refs_[static_cast<std::size_t>(block)];
    }
    if (group == 0) sequence.published += hit[group].size();
  }
  for (std::vector<int>& table : sequence.tables) {
    while (static_cast<std::int64_t>(table.size()) * block_size_ < tokens) {
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
      table.push_back(block);
    }
  }
}

void NaiveKv::pass(RequestId id, std::int64_t computed) {
  NaiveTables& tables = sequences_.at(id).tables;
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    for (std::size_t i = tables[group].size(); i-- > 0;) {
      if (tables[group][i] == 0 || sees(group, computed, static_cast<std::int64_t>(i))) continue;
      let_go(tables[group][i]);
      tables[group][i] = 0;
    }
  }
}

void NaiveKv::let_go(int block) {
  if (--refs_[static_cast<std::size_t>(block)] == 0) free_.push_back(block);
}

void NaiveKv::publish(const RequestSpec& spec, std::int64_t tokens) {
  if (!caching_) return;
  Sequence& sequence = sequences_[spec.id];
  while (static_cast<std::int64_t>(sequence.published + 1) * block_size_ <= tokens) {
    for (std::size_t group = 0; group < groups_.size(); ++group) {
      const int block = sequence.tables[group][sequence.published];
      if (block == 0) continue;
      const int content = key_in(key(spec, sequence.published), group);
      key_of_[static_cast<std::size_t>(block)] = content;
      cached_[content].push_back(block);
    }
    ++sequence.published;
  }
}

void NaiveKv::release(RequestId id) {
  const auto sequence = sequences_.find(id);
  if (sequence == sequences_.end()) return;
  for (const std::vector<int>& table : sequence->second.tables) {
    for (auto block = table.rbegin(); block != table.rend(); ++block) {
      if (*block > 0) let_go(*block);
    }
  }
  sequences_.erase(sequence);
}

bool NaiveKv::reset() {
  if (used_count() != 0) return false;
  cached_.clear();
  std::fill(key_of_.begin(), key_of_.end(), 0);
  return true;
}

std::vector<int> NaiveKv::block_ids(RequestId id) const {
  std::vector<int> ids;
  const auto sequence = sequences_.find(id);
  if (sequence == sequences_.end()) return ids;
  for (const std::vector<int>& table : sequence->second.tables)
    ids.insert(ids.end(), table.begin(), table.end());
  return ids;
}

}  // namespace servetwin
