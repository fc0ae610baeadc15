// Fibers jump straight to the next thread that can go on; nothing is scheduled from outside while a block
// runs.
#include "tests/emulator/machine.h"

#include <algorithm>
#include <array>
#include <bit>
#include <boost/context/detail/fcontext.hpp>
#include <cstring>
#include <new>
#include <numeric>
#include <optional>
#include <sys/mman.h>

#include "engine/base/check.h"
#include "tests/emulator/checker.h"
#include "tests/emulator/sanitizer.h"

namespace servetwin::emulator {

namespace context = boost::context::detail;

namespace {

constexpr unsigned kWarp = 32;
constexpr unsigned kMaxThreads = 1024;
constexpr std::size_t kMaxShared = 227 * 1024;  // bytes a block can have from sm_90 on
constexpr std::size_t kStack = kAddressSanitizer ? 256 * 1024 : 64 * 1024;

enum class State : std::uint8_t { kReady, kAtBarrier, kInCollective, kDone };

struct Thread {
  context::fcontext_t where = nullptr;
  Index index;
  unsigned number = 0;
  State state = State::kReady;
  Place place;
  const char* operation = "";
  unsigned warp_rank = 0;  // place in the order of this launch
  unsigned lane_rank = 0;
  FiberStack stack;
};

struct Group {
  unsigned mask = 0;
  unsigned arrived = 0;
  const char* name = "";
  Place place;
};

struct MetBarrier {
  Place place;
  bool is_dropped = false;
};

struct Warp {
  std::array<Post, kWarp> posts{};
  std::vector<Group> groups;
  std::uint32_t epoch = 1;
};

struct Random {
  std::uint64_t state = 0;
  unsigned below(std::size_t bound) {  // splitmix64
    std::uint64_t z = (state += 0x9E3779B97F4A7C15U);
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
    return static_cast<unsigned>((z ^ (z >> 31U)) % bound);
  }
};

unsigned popcount(std::uint32_t bits) { return static_cast<unsigned>(std::popcount(bits)); }

unsigned nth_bit(std::uint32_t bits, unsigned n) {
  for (; n > 0; --n) bits &= bits - 1;
  return static_cast<unsigned>(std::countr_zero(bits));
}

BarrierName barrier_name(Place place) {
  const std::string path(place.file);
  return {path.substr(path.rfind('/') + 1), place.line};
}

std::string text_of(Place place) {
  const auto [file, line] = barrier_name(place);
  return file + ":" + std::to_string(line);
}

bool is_same(Place a, Place b) { return a.line == b.line && std::strcmp(a.file, b.file) == 0; }

std::string text_of(const Index& i) {
  return "(" + std::to_string(i.x) + ", " + std::to_string(i.y) + ", " + std::to_string(i.z) + ")";
}

std::uint64_t count_of(const Index& i) { return std::uint64_t{i.x} * i.y * i.z; }

Index nth_index(std::uint64_t n, const Index& size) {
  return {static_cast<unsigned>(n % size.x), static_cast<unsigned>(n / size.x % size.y),
          static_cast<unsigned>(n / size.x / size.y)};
}

char* new_stack() {
  void* memory = mmap(nullptr, kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return static_cast<char*>(memory);
}

}  // namespace

class Machine {
 public:
  void launch(Index grid, Index block, std::size_t shared_bytes, const std::function<void()>& body);
  void block_barrier(Place place);
  void collective(const char* name, unsigned mask, Place place, const Post& post, Complete complete);
  // Whether the barrier is told to do nothing; notes that it was met.
  bool is_dropped(Place place);
  void pass_warp_barrier() { ++warp().epoch; }
  [[noreturn]] void fail(FaultKind kind, const std::string& text);
  Position position() { return {blocks_, thread_->number, epoch_, warp().epoch, first_epoch_}; }
  std::string describe(const Thread& who) const {
    return "thread " + text_of(who.index) + " of block " + text_of(block_index);
  }
  std::string describe(std::uint32_t number) const { return describe(threads_[number]); }
  bool is_running() const { return is_running_; }
  const Thread& thread() const { return *thread_; }

  Index grid_size;
  Index block_size;
  Index block_index;
  SharedArena shared;
  Emulation* emulation = nullptr;

 private:
  static void enter(context::transfer_t from);
  void check_shape(std::size_t shared_bytes) const;
  void arrange_threads();
  void run_block();
  void set_ready(Thread& who);
  Thread* pick();
  void wait(State state, const char* operation, Place place);
  void jump(Thread* to);  // null: to where the launch began
  void leave();
  void open_barrier();
  [[noreturn]] void stuck();
  void check_lanes(const char* name, unsigned mask, Place place);
  Warp& warp() { return warps_[thread_->number / kWarp]; }

  bool is_running_ = false;
  Thread* thread_ = nullptr;
  std::vector<Thread> threads_;
  std::vector<Thread*> by_rank_;
  std::vector<Warp> warps_;
  std::vector<char*> stacks_;
  std::array<std::uint32_t, kWarp> ready_{};  // by rank
  std::uint32_t ready_warps_ = 0;
  unsigned alive_ = 0;
  unsigned at_barrier_ = 0;
  const Thread* first_at_barrier_ = nullptr;
  std::vector<MetBarrier> met_;  // in this launch
  std::uint32_t blocks_ = 0;
  std::uint32_t epoch_ = 0;
  std::uint32_t first_epoch_ = 0;  // of this block
  Random random_;
  std::uint64_t manner_ = 0;
  const std::function<void()>* body_ = nullptr;
  context::fcontext_t main_ = nullptr;
  FiberStack main_stack_;
  std::optional<Fault> fault_;
};

namespace {

Machine& machine() {
  // The checker is made first, so that it is there as long as shared memory is.
  [[maybe_unused]] static const bool kIsChecked = checks_races();
  static Machine the_machine;
  return the_machine;
}

}  // namespace

void Machine::set_ready(Thread& who) {
  who.state = State::kReady;
  ready_[who.warp_rank] |= 1U << who.lane_rank;
  ready_warps_ |= 1U << who.warp_rank;
}

// The next thread that can go on; null when all wait.
Thread* Machine::pick() {
  if (ready_warps_ == 0) return nullptr;
  unsigned warp_rank = thread_ == nullptr ? 0 : thread_->warp_rank;
  unsigned lane_rank = 0;
  if (manner_ == 2) {
    warp_rank = nth_bit(ready_warps_, random_.below(popcount(ready_warps_)));
    lane_rank = nth_bit(ready_[warp_rank], random_.below(popcount(ready_[warp_rank])));
  } else {
    if ((ready_warps_ >> warp_rank & 1U) == 0) warp_rank = nth_bit(ready_warps_, 0);
    lane_rank = nth_bit(ready_[warp_rank], 0);
  }
  ready_[warp_rank] &= ~(1U << lane_rank);
  if (ready_[warp_rank] == 0) ready_warps_ &= ~(1U << warp_rank);
  return by_rank_[warp_rank * kWarp + lane_rank];
}

void Machine::jump(Thread* to) {
  Thread* const from = thread_;
  FiberStack& own_stack = from == nullptr ? main_stack_ : from->stack;
  const bool is_last = from != nullptr && from->state == State::kDone;
  before_jump(is_last ? nullptr : &own_stack, to == nullptr ? main_stack_ : to->stack);
  thread_ = to;
  context::fcontext_t& slot = from == nullptr ? main_ : from->where;
  const context::transfer_t back = context::jump_fcontext(to == nullptr ? main_ : to->where, &slot);
  *static_cast<context::fcontext_t*>(back.data) = back.fctx;
  after_jump(own_stack, nullptr);
}

void Machine::enter(context::transfer_t from) {
  Machine& self = machine();
  *static_cast<context::fcontext_t*>(from.data) = from.fctx;
  after_jump(self.thread_->stack, from.data == &self.main_ ? &self.main_stack_ : nullptr);
  (*self.body_)();
  self.leave();
}

void Machine::leave() {
  thread_->state = State::kDone;
  --alive_;
  if (at_barrier_ > 0) {
    fail(FaultKind::kBarrier, describe(*thread_) + " ends and misses the barrier at " +
                                  text_of(first_at_barrier_->place) + ", where " +
                                  describe(*first_at_barrier_) + " waits");
  }
  Thread* const next = alive_ == 0 ? nullptr : pick();
  if (alive_ > 0 && next == nullptr) stuck();
  jump(next);
}

void Machine::fail(FaultKind kind, const std::string& text) {
  Fault fault(kind, text);
  if (!is_running_) throw fault;
  is_running_ = false;
  fault_ = fault;
  jump(nullptr);
  throw fault;  // not reached: nobody jumps back to a thread of a launch that failed
}

void Machine::stuck() {
  std::string text = "deadlock:";
  int named = 0;
  for (const Thread& who : threads_) {
    if (who.state == State::kDone || who.state == State::kReady || ++named > 4) continue;
    text += " " + describe(who) + " waits in " + who.operation + " at " + text_of(who.place) + ";";
  }
  text += " " + std::to_string(named) + " wait, " + std::to_string(threads_.size() - alive_) + " have ended";
  fail(FaultKind::kDeadlock, text);
}

void Machine::wait(State state, const char* operation, Place place) {
  thread_->state = state;
  thread_->operation = operation;
  thread_->place = place;
  Thread* const next = pick();
  if (next == nullptr) stuck();
  if (next == thread_) return;
  ++emulation->switches_;
  jump(next);
}

bool Machine::is_dropped(Place place) {
  for (const MetBarrier& met : met_) {
    if (met.place.line == place.line && met.place.file == place.file) return met.is_dropped;
  }
  const BarrierName name = barrier_name(place);
  emulation->barriers_.insert(name);
  met_.push_back({place, name == emulation->settings_.dropped});
  return met_.back().is_dropped;
}

void Machine::open_barrier() {
  at_barrier_ = 0;
  ++epoch_;
  for (Thread& who : threads_) set_ready(who);
}

void Machine::block_barrier(Place place) {
  if (alive_ < threads_.size()) {
    const auto ended = std::find_if(threads_.begin(), threads_.end(),
                                    [](const Thread& t) { return t.state == State::kDone; });
    fail(FaultKind::kBarrier, describe(*thread_) + " comes to the barrier at " + text_of(place) + ", but " +
                                  describe(*ended) + " has ended");
  }
  if (at_barrier_ == 0) first_at_barrier_ = thread_;
  if (!is_same(first_at_barrier_->place, place) && at_barrier_ > 0) {
    fail(FaultKind::kBarrier, "a barrier in divergent code: " + describe(*thread_) + " is at " +
                                  text_of(place) + ", " + describe(*first_at_barrier_) + " at " +
                                  text_of(first_at_barrier_->place));
  }
  thread_->place = place;
  if (++at_barrier_ == threads_.size()) open_barrier();
  const State state = at_barrier_ == 0 ? State::kReady : State::kAtBarrier;
  wait(state, "__syncthreads", place);
}

void Machine::check_lanes(const char* name, unsigned mask, Place place) {
  const unsigned first = thread_->number / kWarp * kWarp;
  const unsigned lane = thread_->number % kWarp;
  if ((mask >> lane & 1U) == 0) {
    fail(FaultKind::kCollective, describe(*thread_) + ", lane " + std::to_string(lane) +
                                     ", is not in the mask of its own " + name + " at " + text_of(place));
  }
  for (unsigned other = 0; other < kWarp; ++other) {
    if ((mask >> other & 1U) == 0) continue;
    if (first + other < threads_.size() && threads_[first + other].state != State::kDone) continue;
    fail(FaultKind::kCollective, describe(*thread_) + " names lane " + std::to_string(other) + " in " + name +
                                     " at " + text_of(place) + ", which has ended or never was");
  }
}

void Machine::collective(const char* name, unsigned mask, Place place, const Post& post, Complete complete) {
  check_lanes(name, mask, place);
  Warp& own = warp();
  const unsigned first = thread_->number / kWarp * kWarp;
  auto group =
      std::find_if(own.groups.begin(), own.groups.end(), [&](const Group& g) { return g.mask == mask; });
  if (group == own.groups.end()) group = own.groups.insert(own.groups.end(), {mask, 0, name, place});
  if (!is_same(group->place, place) || std::strcmp(group->name, name) != 0) {
    const Thread& other = threads_[first + nth_bit(group->arrived, 0)];
    fail(FaultKind::kCollective, "lanes meet in different operations: " + describe(*thread_) + " in " + name +
                                     " at " + text_of(place) + ", " + describe(other) + " in " + group->name +
                                     " at " + text_of(group->place));
  }
  own.posts[thread_->number % kWarp] = post;
  group->arrived |= 1U << thread_->number % kWarp;
  thread_->place = place;
  if (group->arrived != mask) return wait(State::kInCollective, name, place);
  own.groups.erase(group);
  complete(own.posts.data(), mask);
  for (std::uint32_t lanes = mask; lanes != 0; lanes &= lanes - 1) {
    set_ready(threads_[first + nth_bit(lanes, 0)]);
  }
  wait(State::kReady, name, place);
}

void Machine::check_shape(std::size_t shared_bytes) const {
  const std::uint64_t threads = count_of(block_size);
  const bool good_block = threads > 0 && threads <= kMaxThreads && block_size.z <= 64;
  const bool good_grid = count_of(grid_size) > 0 && grid_size.x < 1U << 31U && grid_size.y < 1U << 16U &&
                         grid_size.z < 1U << 16U;
  if (good_block && good_grid && shared_bytes <= kMaxShared) return;
  throw Fault(FaultKind::kLaunch, "no device accepts a grid of " + text_of(grid_size) + " blocks of " +
                                      text_of(block_size) + " threads with " + std::to_string(shared_bytes) +
                                      " bytes");
}

void Machine::arrange_threads() {
  threads_.assign(count_of(block_size), Thread{});
  const auto warps = static_cast<unsigned>((threads_.size() + kWarp - 1) / kWarp);
  warps_.assign(warps, Warp{});
  while (stacks_.size() < threads_.size()) stacks_.push_back(new_stack());
  std::array<unsigned, kWarp> lanes{};
  std::array<unsigned, kWarp> order{};
  std::iota(lanes.begin(), lanes.end(), 0U);
  std::iota(order.begin(), order.end(), 0U);
  for (std::size_t i = manner_ == 1 ? kWarp : 0; i > 1; --i) {
    std::swap(lanes[i - 1], lanes[random_.below(i)]);
    if (i <= warps) std::swap(order[i - 1], order[random_.below(i)]);
  }
  by_rank_.assign(std::size_t{warps} * kWarp, nullptr);
  for (Thread& who : threads_) {
    who.number = static_cast<unsigned>(&who - threads_.data());
    who.index = nth_index(who.number, block_size);
    who.warp_rank = order[who.number / kWarp];
    who.lane_rank = lanes[who.number % kWarp];
    who.stack = {stacks_[who.number], kStack, nullptr};
    by_rank_[who.warp_rank * kWarp + who.lane_rank] = &who;
  }
}

void Machine::run_block() {
  ++blocks_;
  first_epoch_ = ++epoch_;
  at_barrier_ = 0;
  ready_.fill(0);
  ready_warps_ = 0;
  for (Warp& each : warps_) each.groups.clear();
  shared.begin_block();
  alive_ = static_cast<unsigned>(threads_.size());
  for (Thread& who : threads_) {
    forget_frames(stacks_[who.number], kStack);
    who.where = context::make_fcontext(stacks_[who.number] + kStack, kStack, enter);
    set_ready(who);
  }
  is_running_ = true;
  thread_ = nullptr;
  jump(pick());
  is_running_ = false;
  if (fault_) throw Fault(*std::exchange(fault_, std::nullopt));
}

void Machine::launch(Index grid, Index block, std::size_t shared_bytes, const std::function<void()>& body) {
  grid_size = grid;
  block_size = block;
  check_shape(shared_bytes);
  std::optional<Emulation> plain;
  if (emulation == nullptr) plain.emplace();
  const std::uint64_t seed = emulation->settings_.seed;
  random_.state = seed;
  manner_ = seed % 3;
  body_ = &body;
  shared.resize(shared_bytes);
  met_.clear();
  begin_launch(epoch_ + 1);
  arrange_threads();
  const std::uint64_t count = count_of(grid);
  for (std::uint64_t i = 0; i < count; ++i) {
    block_index = nth_index(manner_ == 0 ? i : count - 1 - i, grid);
    run_block();
  }
}

Emulation::Emulation(Settings settings) : settings_(std::move(settings)) {
  CHECK_INVARIANT(machine().emulation == nullptr);
  machine().emulation = this;
}

Emulation::~Emulation() { machine().emulation = nullptr; }

void launch(Index grid, Index block, std::size_t shared_bytes, const std::function<void()>& body) {
  machine().launch(grid, block, shared_bytes, body);
}

Index thread_index() { return machine().thread().index; }
Index block_index() { return machine().block_index; }
Index block_size() { return machine().block_size; }
Index grid_size() { return machine().grid_size; }
void* dynamic_shared_bytes() { return machine().shared.data(); }
void fail(FaultKind kind, const std::string& text) { machine().fail(kind, text); }
unsigned lane_index() { return machine().thread().number % kWarp; }
bool is_running() { return machine().is_running(); }
Position position() { return machine().position(); }
std::string describe_thread(std::uint32_t thread) { return machine().describe(thread); }

void block_barrier(Place place) {
  if (!machine().is_dropped(place)) machine().block_barrier(place);
}

void warp_barrier(unsigned mask, Place place) {
  if (machine().is_dropped(place)) return;
  machine().collective("__syncwarp", mask, place, {},
                       [](const Post*, unsigned) { machine().pass_warp_barrier(); });
}

void collective(const char* name, unsigned mask, Place place, const Post& post, Complete complete) {
  machine().collective(name, mask, place, post, complete);
}

void complete_shuffle(const Post* posts, unsigned mask) {
  for (std::uint32_t lanes = mask; lanes != 0; lanes &= lanes - 1) {
    const Post& post = posts[nth_bit(lanes, 0)];
    if ((mask >> post.number & 1U) == 0) {
      fail(FaultKind::kCollective, "a shuffle reads from lane " + std::to_string(post.number) +
                                       ", which is not in its mask; " + describe_thread(position().thread));
    }
    std::memcpy(post.out, posts[post.number].in, post.bytes);
  }
}

void complete_ballot(const Post* posts, unsigned mask) {
  unsigned ballot = 0;
  for (unsigned lane = 0; lane < kWarp; ++lane) {
    if ((mask >> lane & 1U) != 0 && posts[lane].number != 0) ballot |= 1U << lane;
  }
  for (std::uint32_t lanes = mask; lanes != 0; lanes &= lanes - 1) {
    *static_cast<unsigned*>(posts[nth_bit(lanes, 0)].out) = ballot;
  }
}

}  // namespace servetwin::emulator
