// If this fails, extents do not do what a list of single blocks does: a hit, an eviction or a free order
// differs from the engine that is simulated, block by block.
#include "engine/serving/kv_group.h"

#include <map>
#include <optional>
#include <rapidcheck.h>
#include <set>
#include <tuple>

#include "tests/support/block_ids.h"
#include "tests/support/catch.h"
#include "tests/support/naive_kv.h"

namespace servetwin::kv_group_test {
namespace {

// One pool twice: as extents, and block by block with physical ids.
class TwoPools {
 public:
  TwoPools(std::int64_t num_blocks, std::int64_t block_size)
      : size_(block_size), ours_(Blocks{num_blocks}), ids_(num_blocks), naive_(num_blocks, block_size, true) {
    ours_.set_listener(&ids_);
    for (int id = 1; id < num_blocks; ++id)
      named_[id] = {kNoRequest, 0, static_cast<std::int32_t>(num_blocks - 1 - id)};
  }

  std::size_t num_sequences() const { return sequences_.size(); }

  // A new request, or one that left before and comes back. Nothing happens where it does not fit.
  void admit(RequestSpec spec, std::int64_t tokens, std::int64_t pick) {
    if (pick >= 0 && !left_.empty()) {
      const std::size_t which = static_cast<std::size_t>(pick) % left_.size();
      spec = left_[which];
      left_.erase(left_.begin() + static_cast<std::ptrdiff_t>(which));
    } else {
      spec.id = RequestId{next_id_++};
    }
    Sequence sequence;
    sequence.spec = spec;
    content_runs(spec, Tokens{size_}, kSeed, sequence.runs);
    const std::vector<int> hit = find(sequence, tokens);
    RC_ASSERT(static_cast<std::int64_t>(hit.size()) <= (tokens - 1) / size_);
    const auto in_queue = ours_.free_blocks_in(sequence.hits);
    const std::int64_t need =
        blocks_for(Tokens{tokens}, Tokens{size_}).value - static_cast<std::int64_t>(hit.size()) + in_queue;
    RC_ASSERT(need == naive_.need(spec.id, hit, tokens));
    if (need > ours_.free().value) {
      left_.push_back(spec);
      return;
    }
    const auto first = static_cast<std::int32_t>(hit.size());
    sequence.life = lives_[spec.id]++;
    sequence.owner = ours_.open_owner(spec.id, sequence.life, sequence.hits);
    sequence.first = sequence.held = sequence.published = first;
    naive_.allocate(spec.id, hit, first * size_);
    sequences_.push_back(sequence);
    grow(sequences_.size() - 1, tokens - first * size_);
  }

  void grow(std::size_t which, std::int64_t more) {
    Sequence& sequence = sequences_[which];
    const std::int64_t tokens = (sequence.tokens == 0 ? sequence.first * size_ : sequence.tokens) + more;
    const auto end = static_cast<std::int32_t>(blocks_for(Tokens{tokens}, Tokens{size_}).value);
    if (end - sequence.held > ours_.free().value) return;
    const std::vector<int> queue = naive_.free_ids();
    if (end > sequence.held) {
      ours_.take(end - sequence.held);
      ours_.extend(sequence.owner, end);
    }
    naive_.allocate(sequence.spec.id, {}, tokens);
    sequence.tokens = tokens;
    check_taken(queue, sequence, end);
    sequence.held = end;
  }

  void publish(std::size_t which) {
    Sequence& sequence = sequences_[which];
    const auto full = static_cast<std::int32_t>(sequence.tokens / size_);
    for (const ContentRun& run : sequence.runs) {
      ours_.publish(sequence.owner, run, std::max(run.first, sequence.published), std::min(run.end, full));
    }
    sequence.published = std::max(sequence.published, full);
    naive_.publish(sequence.spec, sequence.tokens);
  }

  void release(std::size_t which) {
    const Sequence sequence = sequences_[which];
    ours_.release(sequence.owner);
    naive_.release(sequence.spec.id);
    left_.push_back(sequence.spec);
    sequences_.erase(sequences_.begin() + static_cast<std::ptrdiff_t>(which));
  }

  void reset() { RC_ASSERT(ours_.reset_cache() == naive_.reset()); }

  void check() {
    ours_.check_all();
    RC_ASSERT(ours_.free().value == naive_.free_count());
    RC_ASSERT(ours_.used().value == naive_.used_count());
    RC_ASSERT(ids_.free() == naive_.free_ids());
    for (const Sequence& sequence : sequences_) {
      std::vector<int> blocks = ids_of(ours_.hits(sequence.owner));
      for (std::int32_t i = sequence.first; i < sequence.held; ++i)
        blocks.push_back(ids_.id(sequence.owner, i));
      RC_ASSERT(blocks == naive_.block_ids(sequence.spec.id));
    }
    for (const RequestSpec& spec : left_) {
      Sequence probe;
      probe.spec = spec;
      content_runs(spec, Tokens{size_}, kSeed, probe.runs);
      find(probe, 60);
    }
    check_ranges();
  }

 private:
  static constexpr std::uint64_t kSeed = 7;

  struct Sequence {
    RequestSpec spec;
    std::vector<ContentRun> runs;
    std::vector<KvExtent> hits;
    OwnerSlot owner = kNoOwner;
    std::uint32_t life = 0;
    std::int64_t tokens = 0;
    std::int32_t first = 0;
    std::int32_t held = 0;
    std::int32_t published = 0;
  };
  struct Name {
    RequestId request;
    std::uint32_t life;
    std::int32_t index;
    friend bool operator==(const Name&, const Name&) = default;
  };

  // What the ranges say of each block: who allocated it, who holds it, whether it can be hit; and in which
  // order those that are free will be taken.
  void check_ranges() const {
    using Fate = std::tuple<RequestId, std::int32_t, int, bool>;
    const auto fate_of = [this](int id) {
      const Name& name = named_.at(id);
      return Fate{name.request, name.index, naive_.references(id), naive_.can_be_hit(id)};
    };
    std::multiset<Fate> held;
    for (const auto& [id, name] : named_) {
      if (naive_.references(id) > 0) held.insert(fate_of(id));
    }
    std::vector<Fate> free;
    for (const int id : naive_.free_ids()) free.push_back(fate_of(id));
    std::multiset<Fate> told_held;
    std::vector<Fate> told_free;
    for (const KvRange& range : ours_.ranges()) {
      for (std::int32_t i = 0; i < range.size(); ++i) {
        const std::int32_t index = range.refs > 0 ? range.first + i : range.end - 1 - i;
        const Fate fate{range.request, index, range.refs, range.cached};
        if (range.refs > 0) told_held.insert(fate);
        if (range.refs == 0) told_free.push_back(fate);
      }
    }
    RC_ASSERT(told_held == held);
    RC_ASSERT(told_free == free);
  }

  std::vector<int> ids_of(const std::vector<KvExtent>& extents) const {
    std::vector<int> ids;
    for (const KvExtent& extent : extents) {
      for (std::int32_t i = extent.first; i < extent.end; ++i) ids.push_back(ids_.id(extent.owner, i));
    }
    return ids;
  }

  std::vector<int> find(Sequence& sequence, std::int64_t tokens) {
    ours_.lookup(sequence.runs, static_cast<std::int32_t>((tokens - 1) / size_), sequence.hits);
    const std::vector<int> hit = ids_of(sequence.hits);
    RC_ASSERT(hit == naive_.lookup(sequence.spec, tokens));
    return hit;
  }

  // What the extents taken are called must name the blocks that left the queue's head, in order.
  void check_taken(const std::vector<int>& queue, const Sequence& sequence, std::int32_t end) {
    std::size_t next = 0;
    for (const TakenExtent& taken : ours_.taken()) {
      for (std::int32_t i = 0; i < taken.count; ++i) {
        RC_ASSERT((named_[queue[next]] == Name{taken.request, taken.life, taken.top - i}));
        ++next;
      }
    }
    ours_.clear_taken();
    RC_ASSERT(static_cast<std::int64_t>(next) == end - sequence.held);
    for (std::int32_t i = sequence.held; i < end; ++i) {
      named_[ids_.id(sequence.owner, i)] = {sequence.spec.id, sequence.life, i};
    }
  }

  std::int64_t size_;
  KvGroup ours_;
  BlockIds ids_;
  NaiveKv naive_;
  std::uint32_t next_id_ = 0;
  std::vector<Sequence> sequences_;
  std::vector<RequestSpec> left_;  // known and not in the pool
  std::map<RequestId, std::uint32_t> lives_;
  std::map<int, Name> named_;  // by physical id: who holds or held it
};

// Few streams and short segments, so that prefixes are often shared, and cut in different places.
RequestSpec any_request() {
  RequestSpec spec;
  spec.content.resize(static_cast<std::size_t>(*rc::gen::inRange(0, 4)));
  for (ContentSegment& segment : spec.content) {
    segment.stream = static_cast<std::uint64_t>(*rc::gen::inRange(0, 2));
    segment.length = Tokens{*rc::gen::inRange(1, 12)};
    spec.prompt += segment.length;
  }
  spec.continues_content = *rc::gen::arbitrary<bool>();
  spec.adapter = AdapterId{*rc::gen::element<std::uint16_t>(0, 0, 0, 1)};
  spec.cache_salt = *rc::gen::element<std::uint64_t>(0, 0, 0, 5);
  return spec;
}

void any_operation(TwoPools& pools) {
  const int action = *rc::gen::inRange(0, 12);
  if (action < 4 || pools.num_sequences() == 0) {
    const RequestSpec spec = any_request();
    const std::int64_t tokens = *rc::gen::inRange(1, 30);
    pools.admit(spec, tokens, action == 0 ? *rc::gen::inRange(0, 1000) : -1);
    if (action > 1 && pools.num_sequences() > 0) pools.publish(pools.num_sequences() - 1);
    return;
  }
  const auto which = *rc::gen::inRange<std::size_t>(0, pools.num_sequences());
  if (action < 7) pools.grow(which, *rc::gen::inRange(1, 9));
  if (action == 7 || action == 8) pools.publish(which);
  if (action == 9 || action == 10) pools.release(which);
  if (action == 11) pools.reset();
}

TEST_CASE("extents behave as single blocks do: hits, needs, evictions, order of frees") {
  const bool held = rc::check([] {
    TwoPools pools(*rc::gen::inRange(3, 24), *rc::gen::element(1, 2, 4));
    const int operations = *rc::gen::inRange(1, 150);
    for (int i = 0; i < operations; ++i) {
      any_operation(pools);
      pools.check();
    }
    while (pools.num_sequences() > 0) pools.release(0);
    pools.check();
    pools.reset();
    pools.check();
  });
  CHECK(held);
}

}  // namespace
}  // namespace servetwin::kv_group_test
