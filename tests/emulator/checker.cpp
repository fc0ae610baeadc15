// One cell for each byte under watch: who wrote it last, who read it since the last barrier.
#include "tests/emulator/checker.h"

#include <algorithm>
#include <array>
#include <map>
#include <new>

#include "tests/emulator/sanitizer.h"
#include "tests/emulator/source_line.h"

extern "C" {
// The bounds of static shared memory; there is none in a program without it.
[[gnu::weak]] extern char __start_emu_shared[];
[[gnu::weak]] extern char __stop_emu_shared[];
}

namespace servetwin::emulator {
namespace {

constexpr std::align_val_t kAlignment{256};  // as cudaMalloc gives
constexpr std::size_t kGuard = kAddressSanitizer ? 0 : 512;

struct Visit {
  std::uint32_t block = 0;  // 0: nobody
  std::uint32_t epoch = 0;
  std::uint32_t warp_epoch = 0;
  std::uint16_t thread = 0;
  bool is_atomic = false;
  const void* caller = nullptr;
};

struct Cell {
  Visit write;
  std::array<Visit, 2> reads;
  bool is_written = false;
};

struct Region {
  const char* name = "";
  std::size_t size = 0;
  std::size_t granule = 1;  // bytes a cell
  bool is_shared = false;   // begins unwritten with each block
  std::vector<Cell> cells;
};

using Address = std::uintptr_t;
Address address_of(const void* pointer) { return reinterpret_cast<Address>(pointer); }

struct Watch {
  std::map<Address, Region> regions;  // by first address
  Address last_first = 0;             // the region of the last access
  Region* last = nullptr;
  std::uint32_t launch_epoch = 0;
  bool is_instrumented = false;
};

Watch& watch() {
  static Watch the_watch;
  return the_watch;
}

// The region whose bytes or guards hold the address.
Region* find_region(Address at, Address& first) {
  Watch& all = watch();
  if (all.last != nullptr && at >= all.last_first && at < all.last_first + all.last->size) {
    first = all.last_first;
    return all.last;
  }
  auto next = all.regions.upper_bound(at + kGuard);
  if (next == all.regions.begin()) return nullptr;
  --next;
  const auto contains = [&](const auto& entry) {
    return at + kGuard >= entry.first && at < entry.first + entry.second.size + kGuard;
  };
  if (!contains(*next)) {
    if (next == all.regions.begin()) return nullptr;
    if (--next; !contains(*next)) return nullptr;
  }
  all.last_first = first = next->first;
  return all.last = &next->second;
}

bool is_ordered(const Visit& before, const Position& now, const Region& region) {
  if (before.block == 0 || before.epoch < watch().launch_epoch) return true;
  if (region.is_shared && before.epoch < now.first_epoch) return true;
  if (before.block != now.block) return false;
  if (before.thread == now.thread || before.epoch < now.epoch) return true;
  return before.thread / 32 == now.thread / 32 && before.warp_epoch < now.warp_epoch;
}

std::string where_in(const Region& region, std::size_t cell) {
  return "byte " + std::to_string(cell * region.granule) + " of " + region.name + " (" +
         std::to_string(region.size) + " bytes)";
}

// Cells are kept only where somebody fills them.
void add_region(const void* data, std::size_t size, std::size_t granule, const char* name, bool is_shared) {
  Region region{name, size, granule, is_shared, {}};
  if (watch().is_instrumented) region.cells.resize((size + granule - 1) / granule);
  watch().regions[address_of(data)] = std::move(region);
}

std::size_t static_size() {
  return __start_emu_shared == nullptr ? 0 : static_cast<std::size_t>(__stop_emu_shared - __start_emu_shared);
}

[[noreturn]] void fail_race(
    const Region& region, std::size_t cell, const Visit& before, bool wrote, const Visit& now, bool writes) {
  const std::string other = before.block == now.block ? describe_thread(before.thread) : "another block";
  fail(FaultKind::kRace, "a race on " + where_in(region, cell) + ": " + describe_thread(now.thread) +
                             (writes ? " writes" : " reads") + " at " + source_line(now.caller) + ", " +
                             other + (wrote ? " wrote" : " read") + " at " + source_line(before.caller) +
                             ", and nothing orders them");
}

void visit(Region& region, std::size_t index, Access access, const Visit& now, const Position& here) {
  Cell& cell = region.cells[index];
  const bool writes = access != Access::kRead;
  const bool is_written = cell.is_written && (!region.is_shared || cell.write.epoch >= here.first_epoch);
  if (access != Access::kWrite && !is_written) {
    fail(FaultKind::kUninitialised, describe_thread(now.thread) + " reads " + where_in(region, index) +
                                        " at " + source_line(now.caller) + ", which nobody wrote");
  }
  const bool both_atomic = access == Access::kAtomic && cell.write.is_atomic;
  if (!both_atomic && !is_ordered(cell.write, here, region)) {
    fail_race(region, index, cell.write, true, now, writes);
  }
  if (writes) {
    for (const Visit& read : cell.reads) {
      if (!is_ordered(read, here, region)) fail_race(region, index, read, false, now, true);
    }
    cell.write = now;
    cell.is_written = true;
    return;
  }
  Visit& slot = is_ordered(cell.reads[0], here, region) ? cell.reads[0] : cell.reads[1];
  slot = now;
}

}  // namespace

bool checks_races() { return watch().is_instrumented; }
void note_instrumented() { watch().is_instrumented = true; }

void begin_launch(std::uint32_t epoch) { watch().launch_epoch = epoch; }

void note_access(const void* address, std::size_t size, Access access, const void* caller) {
  if (!watch().is_instrumented || !is_running()) return;
  Address first = 0;
  const Address at = address_of(address);
  constexpr Address kNearStack = 32 * 1024;  // variables of the thread's own: nobody else's business
  if (at - address_of(__builtin_frame_address(0)) < kNearStack) return;
  Region* region = find_region(at, first);
  if (region == nullptr) return;
  if (at < first || at + size > first + region->size) {
    fail(FaultKind::kOutOfBounds, describe_thread(position().thread) +
                                      (access == Access::kRead ? " reads " : " writes ") +
                                      std::to_string(size) + " bytes at " + source_line(caller) + ", " +
                                      (at < first ? std::to_string(first - at) + " bytes before "
                                                  : std::to_string(at - first) + " bytes into ") +
                                      region->name + " of " + std::to_string(region->size) + " bytes");
  }
  const Position here = position();
  const Visit now{here.block,
                  here.epoch,
                  here.warp_epoch,
                  static_cast<std::uint16_t>(here.thread),
                  access == Access::kAtomic,
                  caller};
  const std::size_t last = (at + size - 1 - first) / region->granule;
  for (std::size_t i = (at - first) / region->granule; i <= last; ++i) visit(*region, i, access, now, here);
}

WatchedBytes::WatchedBytes(std::size_t size, std::size_t granule, const char* name, bool is_shared)
    : memory_(static_cast<std::byte*>(::operator new(size + 2 * kGuard, kAlignment))), size_(size) {
  data_ = memory_ + kGuard;
  add_region(data_, size, granule, name, is_shared);
}

WatchedBytes::~WatchedBytes() {
  watch().regions.erase(address_of(data_));
  watch().last = nullptr;
  ::operator delete(memory_, kAlignment);
}

void WatchedBytes::set_unwritten() {
  std::memset(data_, 0xFF, size_);
  for (Cell& cell : watch().regions[address_of(data_)].cells) cell.is_written = false;
}

void WatchedBytes::set_written() {
  for (Cell& cell : watch().regions[address_of(data_)].cells) cell.is_written = true;
}

void SharedArena::resize(std::size_t bytes) {
  constexpr std::size_t kGranule = 2;  // the smallest element of shared memory
  if (bytes_ == nullptr || bytes_->size() != bytes) {
    bytes_.reset();
    bytes_ = std::make_unique<WatchedBytes>(bytes, kGranule, "dynamic shared memory", true);
  }
  static bool has_static = false;
  if (__start_emu_shared == nullptr || std::exchange(has_static, true)) return;
  add_region(__start_emu_shared, static_size(), 1, "static shared memory", true);
}

void SharedArena::begin_block() {
  std::memset(bytes_->data(), 0xFF, bytes_->size());
  for (std::size_t i = 0; i < static_size(); ++i) {
    if (!is_redzone(__start_emu_shared + i)) __start_emu_shared[i] = static_cast<char>(0xFF);
  }
}

}  // namespace servetwin::emulator
