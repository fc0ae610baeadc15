// Groups of layers that see a window of a sequence: a table each in the one pool, and the blocks that no
// later query sees are given back. Semantics: vLLM V1's hybrid KV manager; sinks are kept besides.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/serving/config.h"
#include "engine/serving/kv_group.h"

namespace servetwin {

// All tables of a request have as many entries, for the same tokens; entries of passed blocks are null. The
// owner of its first table names them all.
class KvWindows {
 public:
  explicit KvWindows(const EngineConfig& config);

  // Without any, a request has one table and keeps all: nothing below is called then but most().
  bool any() const { return any_; }
  std::int64_t tables() const { return any() ? static_cast<std::int64_t>(rules_.size()) : 1; }
  // Blocks that a sequence of so many entries holds at once at most, in all its tables. A step computes up to
  // its token budget before anything is given back.
  static Blocks most(const EngineConfig& config, Blocks entries);

  // The longest cached prefix, at most `most` blocks, after which every group finds what its next query sees.
  // Opening and needs, which follow, are of the prefix that was looked up last, if any.
  std::int32_t look_up(const KvGroup& kv, const std::vector<ContentRun>& runs, std::int32_t most);
  // Blocks that lie in the free queue and that the tables would take from it to have `end` entries behind a
  // hit of `hit`; `at_once`: no more than they hold at once.
  std::int64_t need(const KvGroup& kv, std::int64_t hit, std::int64_t end, bool at_once) const;
  OwnerSlot open(KvGroup& kv, RequestId request, std::uint32_t life, std::int64_t hit);
  void extend(KvGroup& kv, OwnerSlot owner, std::int32_t end);
  void publish(KvGroup& kv, OwnerSlot owner, const ContentRun& run, std::int32_t first, std::int32_t end);
  // Gives back what no query from position `computed` on sees; how many blocks.
  std::int64_t pass(KvGroup& kv, OwnerSlot owner, std::int64_t computed);
  // Entries that are blocks.
  std::int64_t held(const KvGroup& kv, OwnerSlot owner) const;
  // Of them, those that nobody else holds.
  std::int64_t held_alone(const KvGroup& kv, OwnerSlot owner) const;
  void release(KvGroup& kv, OwnerSlot owner);
  // All of a sequence, step by step, and gives it back: as if it had been served.
  void serve(KvGroup& kv,
             RequestId request,
             std::uint32_t life,
             const std::vector<ContentRun>& runs,
             std::int32_t full);
  // Of table `index` of the request.
  OwnerSlot owner_of(OwnerSlot owner, std::size_t index) const {
    return index == 0 ? owner : others_[owner][index - 1];
  }

 private:
  struct Rule {
    std::int64_t window = 0;
    std::int32_t sink = 0;  // blocks
    std::int32_t seen = 0;  // full blocks that the query behind them sees of them at most
    std::int64_t most = 0;  // blocks that a table holds at once
  };

  static Rule rule_of(const KvRetention& group, const EngineConfig& config);
  std::int32_t longest(const Rule& rule, const std::vector<KvExtent>& found, std::int32_t most) const;
  void keep_seen(const Rule& rule, std::int32_t hit, std::vector<KvExtent>& found) const;
  template <class Call>
  void for_tables(OwnerSlot owner, const Call& call) const;

  bool any_;
  std::int64_t block_size_;
  std::int64_t step_blocks_;  // that a step fills
  std::vector<Rule> rules_;
  std::vector<std::vector<KvExtent>> hits_;     // by table
  std::vector<std::vector<OwnerSlot>> others_;  // by owner of the first table
};

}  // namespace servetwin
