// One pool of KV blocks: allocation, sharing by prefix, lazy LRU eviction. Blocks are held as extents, never
// one by one, and behave exactly as vLLM V1's block-level free list does.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/flat_map.h"
#include "engine/base/ids.h"
#include "engine/base/units.h"
#include "engine/serving/content.h"
#include "engine/serving/kv_extent.h"

namespace servetwin {

class KvGroup {
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
  static constexpr std::uint32_t kNone = 0xffffffffU;

  // A maximal range of one owner's blocks with the same fate: held by `refs` sequences, or free in the queue.
  struct Piece {
    std::int32_t first = 0;
    std::int32_t end = 0;
    std::int32_t refs = 0;
    OwnerSlot owner = kNoOwner;
    std::uint32_t prev = kNone;  // in the free queue
    std::uint32_t next = kNone;
    std::uint32_t next_piece = kNone;  // of the same owner, ascending
  };
  // A range of the owner's blocks that is findable under a node.
  struct Published {
    std::uint32_t node = kNone;
    std::int32_t first = 0;
    std::int32_t end = 0;
  };
  struct Owner {
    RequestId request = kNoRequest;
    std::uint32_t life = 0;
    std::uint32_t head = kNone;  // first piece
    std::uint32_t tail = kNone;  // last piece
    bool open = false;           // its sequence still holds and extends it
    std::int32_t next_index = 0;
    std::vector<KvExtent> hits;  // while open
    std::vector<Published> published;
  };
  // One copy of part of a run. Of several copies of a block the one published first is found.
  struct Copy {
    OwnerSlot owner = kNoOwner;
    std::int32_t first = 0;
    std::int32_t end = 0;
    std::uint64_t order = 0;
  };
  struct Node {
    RunKey key;
    std::vector<Copy> copies;
  };

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
  void let_go_piece(std::uint32_t piece);
  void note_taken(const Owner& owner, std::int32_t top, std::int32_t count);
  void evict(OwnerSlot owner, std::int32_t first, std::int32_t end);
  [[gnu::noinline]] void evict_any(OwnerSlot owner, std::int32_t first, std::int32_t end);
  void cut_copies(std::uint32_t node, OwnerSlot owner, std::int32_t first, std::int32_t end);
  void release_owner_if_empty(OwnerSlot owner);
  void add_ranges(const Piece& piece, std::vector<KvRange>& ranges) const;
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
