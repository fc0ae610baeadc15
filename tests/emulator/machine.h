// A machine that runs CUDA kernels compiled as host C++: one block at a time, one fiber a thread. What a
// kernel may not do is thrown as a Fault.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace servetwin::emulator {

enum class FaultKind : std::uint8_t {
  kRace,           // two threads touch a byte, one writes, and nothing orders them
  kUninitialised,  // a byte is read that nobody wrote
  kOutOfBounds,
  kDeadlock,    // every thread waits
  kBarrier,     // threads of a block meet at different barriers, or one has ended
  kCollective,  // lanes of a warp meet in different operations
  kMisaligned,
  kLaunch  // a shape no device accepts
};

class Fault : public std::runtime_error {
 public:
  Fault(FaultKind fault, const std::string& text) : std::runtime_error(text), kind(fault) {}
  FaultKind kind;
};

// A line of a kernel's source.
struct Place {
  const char* file = "";
  int line = 0;
};

// By the end of the file's path and the line.
using BarrierName = std::pair<std::string, int>;

struct Settings {
  // Decides who runs when. Seeds 0, 3, 6, … keep warps together in the order of their indices, 1, 4, 7, … in
  // an order of their own, 2, 5, 8, … pick any thread each time.
  std::uint64_t seed = 0;
  BarrierName dropped{};  // this __syncthreads or __syncwarp does nothing
};

// While it lives, launches follow its settings. Not nested.
class Emulation {
 public:
  explicit Emulation(Settings settings = {});
  Emulation(const Emulation&) = delete;
  Emulation& operator=(const Emulation&) = delete;
  ~Emulation();

  const Settings& settings() const { return settings_; }
  // Barriers that were met, dropped ones among them.
  const std::set<BarrierName>& barriers() const { return barriers_; }
  std::int64_t switches() const { return switches_; }

 private:
  friend class Machine;
  Settings settings_;
  std::set<BarrierName> barriers_;
  std::int64_t switches_ = 0;
};

struct Index {
  unsigned x = 1;
  unsigned y = 1;
  unsigned z = 1;
};

// Runs `body` once for each thread of each block. Throws Fault.
void launch(Index grid, Index block, std::size_t shared_bytes, const std::function<void()>& body);

// Of the running thread.
Index thread_index();
Index block_index();
Index block_size();
Index grid_size();
void* dynamic_shared_bytes();
// Ends the launch.
[[noreturn]] void fail(FaultKind kind, const std::string& text);

void block_barrier(Place place);
void warp_barrier(unsigned mask, Place place);

// What a lane brings to an operation of its warp: the last lane to come computes for all.
struct Post {
  const void* in = nullptr;
  void* out = nullptr;
  std::size_t bytes = 0;
  unsigned number = 0;  // a source lane or a predicate
};

// `posts` has 32; lanes in `mask` have come.
using Complete = void (*)(const Post* posts, unsigned mask);
void collective(const char* name, unsigned mask, Place place, const Post& post, Complete complete);

// Lane of the running thread.
unsigned lane_index();
void complete_shuffle(const Post* posts, unsigned mask);
void complete_ballot(const Post* posts, unsigned mask);

// The machine that runs now, as the checker sees it.
struct Position {
  std::uint32_t block = 0;  // counts all blocks of all launches
  std::uint32_t thread = 0;
  std::uint32_t epoch = 0;  // counts block barriers of all launches
  std::uint32_t warp_epoch = 0;
  std::uint32_t first_epoch = 0;  // of the block
};

bool is_running();
Position position();
std::string describe_thread(std::uint32_t thread);

}  // namespace servetwin::emulator
