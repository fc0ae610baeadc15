// Prefix caches counted by hand for requests that are served one after the other: what the real cache is held
// against on recorded traffic.
#pragma once

#include <algorithm>
#include <cstdint>
#include <list>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/serving/request.h"

namespace servetwin::test {

// Numbers for chains of hashes: equal numbers mean that this hash and all before it are equal.
class HashChains {
 public:
  std::vector<std::int64_t> numbers(const std::vector<ContentSegment>& content) {
    std::vector<std::int64_t> result;
    std::int64_t parent = -1;
    for (const ContentSegment& segment : content) {
      const auto next = static_cast<std::int64_t>(numbers_.size());
      parent = numbers_.emplace(std::pair{parent, segment.stream}, next).first->second;
      result.push_back(parent);
    }
    return result;
  }

 private:
  std::map<std::pair<std::int64_t, std::uint64_t>, std::int64_t> numbers_;
};

// Never forgets: how many blocks of each hash were ever seen is all there is to know.
class NaiveUnbounded {
 public:
  NaiveUnbounded(std::int64_t block_size, std::int64_t hash_block)
      : size_(block_size), per_hash_(hash_block / block_size) {}

  // Prompt tokens found; the last prompt token, and with it its block, is always computed.
  std::int64_t serve(const std::vector<ContentSegment>& content, std::int64_t prompt) {
    const std::int64_t most = (prompt - 1) / size_;
    std::int64_t hit = 0;
    bool found = true;
    std::int64_t index = 0;
    for (const std::int64_t number : chains_.numbers(content)) {
      std::int64_t& seen = seen_[number];
      const std::int64_t first = per_hash_ * index++;
      if (found) hit = std::min(first + seen, most);
      found = found && seen == per_hash_;
      seen = std::max(seen, std::min(per_hash_, prompt / size_ - first));
    }
    return hit * size_;
  }

 private:
  std::int64_t size_;
  std::int64_t per_hash_;
  HashChains chains_;
  std::map<std::int64_t, std::int64_t> seen_;  // by chain: its blocks that were once complete
};

// A pool of single blocks. A new block is the one that has been free for longest, and forgets what it held
// then.
class NaiveLru {
 public:
  NaiveLru(std::int64_t num_blocks, std::int64_t block_size, std::int64_t hash_block)
      : size_(block_size),
        per_hash_(hash_block / block_size),
        key_of_(static_cast<std::size_t>(num_blocks), kNothing) {
    for (std::size_t block = 0; block < key_of_.size(); ++block)
      where_.push_back(free_.insert(free_.end(), block));
  }

  // Prompt tokens found. All blocks of the request are free again afterwards, the last one first.
  std::int64_t serve(const std::vector<ContentSegment>& content, std::int64_t prompt, std::int64_t output) {
    const std::vector<std::int64_t> chains = chains_.numbers(content);
    std::vector<std::size_t> table;
    while (static_cast<std::int64_t>(table.size()) < (prompt - 1) / size_) {
      const auto found = cached_.find(key(chains, table.size()));
      if (found == cached_.end()) break;
      table.push_back(found->second.front());
      free_.erase(where_[table.back()]);
    }
    const auto hit = static_cast<std::int64_t>(table.size()) * size_;
    const std::int64_t written = prompt + output - 1;  // nobody reads the last output
    while (static_cast<std::int64_t>(table.size()) * size_ < written) {
      const std::size_t block = take();
      const bool complete = (static_cast<std::int64_t>(table.size()) + 1) * size_ <= prompt;
      if (complete) remember(block, key(chains, table.size()));
      table.push_back(block);
    }
    for (auto block = table.rbegin(); block != table.rend(); ++block)
      where_[*block] = free_.insert(free_.end(), *block);
    return hit;
  }

 private:
  static constexpr std::int64_t kNothing = -1;

  std::int64_t key(const std::vector<std::int64_t>& chains, std::size_t index) const {
    const auto block = static_cast<std::int64_t>(index);
    return chains[static_cast<std::size_t>(block / per_hash_)] * per_hash_ + block % per_hash_;
  }

  std::size_t take() {
    const std::size_t block = free_.front();
    free_.pop_front();
    if (key_of_[block] != kNothing) {
      std::vector<std::size_t>& copies = cached_[key_of_[block]];
      copies.erase(std::find(copies.begin(), copies.end(), block));
      if (copies.empty()) cached_.erase(key_of_[block]);
      key_of_[block] = kNothing;
    }
    return block;
  }

  void remember(std::size_t block, std::int64_t content) {
    key_of_[block] = content;
    cached_[content].push_back(block);
  }

  std::int64_t size_;
  std::int64_t per_hash_;
  HashChains chains_;
  std::list<std::size_t> free_;                                        // longest free first
  std::vector<std::list<std::size_t>::iterator> where_;                // by block, while it is free
  std::vector<std::int64_t> key_of_;                                   // by block
  std::unordered_map<std::int64_t, std::vector<std::size_t>> cached_;  // blocks of a content, oldest first
};

}  // namespace servetwin::test
