// If this fails, what is derived for decoders that nobody touches differs from looping over them.
#include "engine/serving/decode_pool.h"

#include <algorithm>
#include <map>
#include <rapidcheck.h>

#include "tests/support/catch.h"

namespace servetwin::decode_pool_test {
namespace {

constexpr std::int64_t kGenerous = 1'000'000;

struct Decoder {
  std::int64_t computed = 0;
  std::int64_t outputs = 0;
  std::int64_t limit = 0;
  std::int64_t held = 0;
  std::uint8_t group = 0;
};

// The pool, and beside it one number after the other for each member.
class PoolAndLoop {
 public:
  explicit PoolAndLoop(std::int64_t block_size)
      : size_(block_size), kv_(Blocks{kGenerous}), pool_(table_, Tokens{block_size}) {}

  void join() {
    RequestSpec spec;
    spec.id = RequestId{next_id_++};
    spec.prompt = Tokens{*rc::gen::inRange(1, 40)};
    spec.max_tokens = Tokens{*rc::gen::oneOf(rc::gen::inRange(2, 30), rc::gen::inRange(1000, 3000))};
    spec.stat_group = *rc::gen::inRange<std::uint8_t>(0, 4);
    const Slot slot = table_.add(spec);
    RequestState& state = table_[slot];
    state.limit = spec.max_tokens.value;
    state.outputs = *rc::gen::inRange<std::int64_t>(1, std::min<std::int64_t>(state.limit, 20));
    state.computed = state.known() - 1;
    state.decoding = true;
    state.held = blocks_for(Tokens{state.computed}, Tokens{size_}).value;
    state.owner = kv_.open_owner(spec.id, 0, {});
    kv_.take(state.held);
    kv_.extend(state.owner, static_cast<std::int32_t>(state.held));
    pool_.park(slot);
    loop_[slot] = {state.computed, state.outputs, state.limit, state.held, spec.stat_group};
  }

  // A step is planned: blocks are taken, everyone advances. Those at their limit leave when it comes back.
  void step() {
    kv_.take(pool_.demand());
    pool_.tick();
    std::vector<Slot> ends;
    for (auto& [slot, decoder] : loop_) {
      if (decoder.computed % size_ == 0) ++decoder.held;
      ++decoder.computed;
      ++decoder.outputs;
      if (decoder.outputs == decoder.limit) ends.push_back(slot);
    }
    std::vector<Slot> ending;
    if (pool_.may_end()) pool_.ending(ending);
    std::sort(ending.begin(), ending.end());
    RC_ASSERT(ending == ends);
    for (const Slot slot : ends) leave(slot, false);
  }

  void leave(Slot slot, bool in_flight) {
    const Decoder expected = loop_.at(slot);
    pool_.unpark(slot, in_flight, kv_);
    check_member(slot, expected, in_flight ? 1 : 0);
    RC_ASSERT(!table_[slot].parked);
    kv_.release(table_[slot].owner);
    table_.remove(slot);
    loop_.erase(slot);
  }

  void refresh(Slot slot) {
    pool_.refresh(slot, kv_);
    check_member(slot, loop_.at(slot), 0);
  }

  Slot any() const {
    auto member = loop_.begin();
    std::advance(member, *rc::gen::inRange<std::ptrdiff_t>(0, static_cast<std::ptrdiff_t>(loop_.size())));
    return member->first;
  }
  bool empty() const { return loop_.empty(); }

  void check() {
    std::int64_t context = 0;
    std::int64_t longest = 0;
    std::int64_t demand = 0;
    std::int64_t held = 0;
    std::array<std::int64_t, kMaxStatGroups> groups{};
    for (const auto& [slot, decoder] : loop_) {
      context += decoder.computed;
      longest = std::max(longest, decoder.computed);
      demand += decoder.computed % size_ == 0 ? 1 : 0;
      held += decoder.held;
      ++groups[decoder.group];
    }
    RC_ASSERT(pool_.size() == static_cast<std::int64_t>(loop_.size()));
    RC_ASSERT(pool_.context_sum() == context);
    RC_ASSERT(pool_.max_context() == longest);
    RC_ASSERT(pool_.demand() == demand);
    RC_ASSERT(pool_.groups() == groups);
    RC_ASSERT(kv_.used().value == held);
  }

 private:
  void check_member(Slot slot, const Decoder& expected, std::int64_t unknown) const {
    const RequestState& state = table_[slot];
    RC_ASSERT(state.computed == expected.computed);
    RC_ASSERT(state.outputs == expected.outputs - unknown);
    RC_ASSERT(state.held == expected.held);
  }

  std::int64_t size_;
  RequestTable table_;
  KvGroup kv_;
  DecodePool pool_;
  std::map<Slot, Decoder> loop_;
  std::uint32_t next_id_ = 0;
};

TEST_CASE("the pool of decoders says what a loop over them says, after every operation") {
  const bool held = rc::check([] {
    PoolAndLoop both(*rc::gen::element(1, 2, 16, 256));
    const int operations = *rc::gen::inRange(1, 200);
    for (int i = 0; i < operations; ++i) {
      const int action = *rc::gen::inRange(0, 10);
      if (action < 2 || both.empty()) {
        both.join();
      } else if (action < 8) {
        // More than the ring of length ends holds, now and then.
        const int steps = *rc::gen::element(1, 1, 1, 5, 1100);
        for (int step = 0; step < steps; ++step) both.step();
      } else if (action == 8) {
        both.refresh(both.any());
      } else {
        both.leave(both.any(), false);
      }
      both.check();
    }
  });
  CHECK(held);
}

TEST_CASE("who leaves during a step has its token computed and not yet put out") {
  const bool held = rc::check([] {
    PoolAndLoop both(*rc::gen::element(1, 16));
    for (int i = 0; i < 5; ++i) both.join();
    for (int i = *rc::gen::inRange(1, 20); i > 0; --i) both.step();
    RC_PRE(!both.empty());
    both.leave(both.any(), true);
    both.check();
  });
  CHECK(held);
}

}  // namespace
}  // namespace servetwin::decode_pool_test
