// The rules of vLLM V1's KV manager written out block by block, slowly and plainly: the oracle for the real
// one.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/serving/config.h"
#include "engine/serving/request.h"

namespace servetwin {

// What a token is: (stream, offset). Equal pairs are equal tokens.
using NaiveToken = std::pair<std::uint64_t, std::int64_t>;

// The token at `position` of a request, prompt or generated.
NaiveToken naive_token(const RequestSpec& spec, std::int64_t position);

// By KV group: the group's blocks of the beginning of a sequence, in order; 0 where it does without.
using NaiveTables = std::vector<std::vector<int>>;

// A pool of blocks 0..num_blocks-1; block 0 is the null block and is never handed out.
class NaiveKv {
 public:
  explicit NaiveKv(const EngineConfig& engine);

  // The cached blocks that begin the sequence of `tokens` tokens, in order, covering at most tokens - 1: the
  // longest beginning after which every group has what the next token sees.
  NaiveTables lookup(const RequestSpec& spec, std::int64_t tokens);

  // Free blocks it takes to hold `tokens` tokens after taking over `hit`: new ones plus hit blocks nobody
  // holds. `at_once`: for a group with a window no more than it holds at any time.
  std::int64_t need(RequestId id, const NaiveTables& hit, std::int64_t tokens, bool at_once = false) const;

  // Blocks that `tokens` tokens alone hold at any time, at most.
  std::int64_t most(std::int64_t tokens) const;

  // Takes over `hit`, then pops new blocks until `tokens` tokens are held. need() must not exceed the free
  // count.
  void allocate(RequestId id, const NaiveTables& hit, std::int64_t tokens);

  // Gives back each block of which the token at `computed` and those behind it see nothing, the last first.
  void pass(RequestId id, std::int64_t computed);

  // Makes the full blocks under the first `tokens` tokens hittable.
  void publish(const RequestSpec& spec, std::int64_t tokens);

  // Gives all blocks back, the last one first.
  void release(RequestId id);

  // Forgets all cached contents; false (and nothing done) while a block is in use.
  bool reset();

  std::int64_t free_count() const { return static_cast<std::int64_t>(free_.size()); }
  std::int64_t used_count() const { return static_cast<std::int64_t>(refs_.size()) - 1 - free_count(); }
  std::vector<int> free_ids() const { return {free_.begin(), free_.end()}; }
  std::vector<int> block_ids(RequestId id) const;  // all groups' tables, one after the other
  int references(int block) const { return refs_[static_cast<std::size_t>(block)]; }
  bool can_be_hit(int block) const { return key_of_[static_cast<std::size_t>(block)] != 0; }

 private:
  // A block's content with all that came before it: parent's number, tokens, adapter, salt.
  using Content = std::tuple<int, std::vector<NaiveToken>, std::uint16_t, std::uint64_t>;

  struct Sequence {
    NaiveTables tables;
    std::size_t published = 0;
  };

  // The number of the content of block `index` of a request; equal contents have equal numbers.
  int key(const RequestSpec& spec, std::size_t index);
  // Of that content in a group's layers.
  int key_in(int key, std::size_t group) const {
    return key * static_cast<int>(groups_.size()) + static_cast<int>(group);
  }
  // Whether the token at `position`, or one behind it, sees some token of block `index`.
  bool sees(std::size_t group, std::int64_t position, std::int64_t index) const;
  std::int64_t most_of(std::size_t group, std::int64_t blocks) const;
  void let_go(int block);

  std::int64_t block_size_;
  std::int64_t budget_;  // tokens that a step computes at most
  bool caching_;
  std::vector<KvRetention> groups_;
  std::list<int> free_;                         // head is handed out next
  std::vector<int> refs_;                       // by block
  std::vector<int> key_of_;                     // by block; 0: holds nothing that can be hit
  std::map<int, std::vector<int>> cached_;      // key -> blocks in the order they were published
  std::map<Content, int> contents_;             // numbers from 1
  std::map<RequestId, std::vector<int>> keys_;  // of the blocks asked for so far
  std::map<RequestId, Sequence> sequences_;
};

}  // namespace servetwin
