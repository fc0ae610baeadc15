// One pool of KV blocks: allocation, sharing by prefix, lazy LRU eviction. Blocks are held as extents, never
// one by one, and behave exactly as vLLM V1's block-level free list does.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/flat_map.h"
#include "engine/base/ids.h"
#include "engine/base/units.h"
#include "engine/serving/kv_group_parts.h"

namespace servetwin {

class KvGroup : private KvGroupParts {
 public:
  // `num_blocks` includes the null block, which is never handed out. Invariant: free + used + pinned =
  // num_blocks - 1.
  explicit KvGroup(Blocks num_blocks);

  Blocks free() const { return Blocks{free_}; }
  Blocks used() const { return Blocks{usable_ - free_ - pinned_}; }
  Blocks usable() const { return Blocks{usable_}; }

  // A new owner for an admission. It takes part in the blocks `hits` (a cached prefix), and its own start
  // behind them.
  OwnerSlot open_owner(RequestId request, std::uint32_t life, const std::vector<KvExtent>& hits);
  // The prefix that an open owner shares.
  const std::vector<KvExtent>& hits(OwnerSlot owner) const { return owners_[owner].hits; }
  // The longest cached prefix of the runs, at most `max_blocks`, as extents in order. Changes nothing.
  void lookup(const std::vector<ContentRun>& runs,
              std::int32_t max_blocks,
              std::vector<KvExtent>& hits) const;
  // How many of these blocks lie in the free queue: they leave it when touched, so they count as needed.
  std::int64_t free_blocks_in(const std::vector<KvExtent>& extents) const { return blocks_in(extents, 0); }
  // Blocks of an open owner, its hits included, that nobody else holds.
  Blocks held_alone(OwnerSlot owner) const;
  // Takes `count` blocks from the head of the free queue. The caller checked that they are there, and says
  // whose they became by extend(), now or (decoders that grow together) before anyone looks.
  void take(std::int64_t count);
  // The owner's blocks now end at `end`.
  void extend(OwnerSlot owner, std::int32_t end);
  // Makes the owner's blocks [first, end) of that run findable.
  void publish(OwnerSlot owner, const ContentRun& run, std::int32_t first, std::int32_t end);
  // Lets go of a sequence's blocks, last block first: the owner's own, then its hits.
  void release(OwnerSlot owner);
  // From now on an open owner does without its blocks [first, end), wherever they come from: lets go of those
  // that it holds, last block first. `first` is the same in every call, `end` does not fall. Returns how many
  // they were.
  std::int64_t pass(OwnerSlot owner, std::int32_t first, std::int32_t end);
  // Before its first block: it begins without [first, end).
  void begin_without(OwnerSlot owner, std::int32_t first, std::int32_t end);
  // What an open owner does without; empty as a rule.
  KvExtent gap(OwnerSlot owner) const { return {owner, owners_[owner].gap_first, owners_[owner].gap_end}; }
  // Entries of an open owner's table that are blocks.
  std::int64_t length(OwnerSlot owner) const {
    return owners_[owner].next_index - (owners_[owner].gap_end - owners_[owner].gap_first);
  }
  // All cached blocks of the runs below `max_blocks`, in order, with whatever gaps there are.
  void find_all(const std::vector<ContentRun>& runs,
                std::int32_t max_blocks,
                std::vector<KvExtent>& found) const;
  // Forgets all cached content. Only when nothing is used; returns whether it did.
  bool reset_cache();

  // Taken extents since the last clear_taken(), adjacent ones joined.
  const std::vector<TakenExtent>& taken() const { return taken_; }
  void clear_taken() { taken_.clear(); }
  // The whole pool: what is held, owner by owner, then what is free, in the order in which it is taken.
  std::vector<KvRange> ranges() const;
  void set_listener(KvListener* listener) { listener_ = listener; }
  // Walks everything and checks every invariant; for tests.
  void check_all() const;

 private:
  std::int64_t blocks_in(const std::vector<KvExtent>& extents, std::int32_t refs) const;
  std::uint32_t new_piece(OwnerSlot owner, std::int32_t first, std::int32_t end, std::int32_t refs);
  void drop_piece(std::uint32_t piece);
  std::uint32_t split(std::uint32_t piece, std::int32_t at);
  std::uint32_t piece_at(OwnerSlot owner, std::int32_t index) const;
  void queue_push(std::uint32_t piece);
  void queue_remove(std::uint32_t piece);
  [[gnu::noinline]] void drop_head();
  void hold(const KvExtent& extent);
  void let_go(const KvExtent& extent);
  [[gnu::noinline]] void let_go_own_around_gap(OwnerSlot owner);
  void cut(OwnerSlot owner, std::int32_t at);
  void pass_hits(std::vector<KvExtent>& hits, std::int32_t from, std::int32_t end);
  void let_go_piece(std::uint32_t piece);
  void note_taken(const Owner& owner, std::int32_t top, std::int32_t count);
  void evict(OwnerSlot owner, std::int32_t first, std::int32_t end);
  [[gnu::noinline]] void evict_any(OwnerSlot owner, std::int32_t first, std::int32_t end);
  void cut_copies(std::uint32_t node, OwnerSlot owner, std::int32_t first, std::int32_t end);
  void release_owner_if_empty(OwnerSlot owner);
  void add_ranges(const Piece& piece, std::vector<KvRange>& ranges) const;
  std::int32_t add_found(const Node& node,
                         std::int32_t index,
                         std::int32_t wanted,
                         std::vector<KvExtent>& found) const;
  static std::int32_t next_copy(const Node& node, std::int32_t index);
  std::int32_t found_until(const Node& node, std::int32_t index, OwnerSlot& owner) const;
  std::uint32_t node_for(const RunKey& key);

  std::int64_t usable_ = 0;
  std::int64_t free_ = 0;
  std::int64_t pinned_ = 0;
  std::uint64_t publish_order_ = 0;
  std::uint32_t queue_head_ = kNone;
  std::uint32_t queue_tail_ = kNone;
  std::vector<Piece> pieces_;
  std::vector<std::uint32_t> spare_pieces_;
  std::vector<Owner> owners_;
  std::vector<OwnerSlot> spare_owners_;
  std::vector<Node> nodes_;
  std::vector<std::uint32_t> spare_nodes_;
  FlatMap<RunKey, std::uint32_t> node_of_;
  std::vector<TakenExtent> taken_;
  std::vector<std::uint32_t> scratch_;
  KvListener* listener_ = nullptr;
};

}  // namespace servetwin
