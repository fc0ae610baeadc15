// Memory that kernels use, and the checker of races, of bounds and of reads before any write. The checker
// sees what is compiled with -fsanitize=thread, by hooks of our own: its findings do not depend on who runs
// when.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "tests/emulator/machine.h"

namespace servetwin::emulator {

// Whether the kernels of this program report their accesses.
bool checks_races();
// Called before main by what reports them.
void note_instrumented();

// Another launch begins; barriers counted below `epoch` lie before it.
void begin_launch(std::uint32_t epoch);

enum class Access : std::uint8_t { kRead, kWrite, kAtomic };

// What the hooks call. `caller` is an address of the code.
void note_access(const void* address, std::size_t size, Access access, const void* caller);

// Bytes under watch, of exactly their size: a guard on both sides, or the redzones of the address sanitizer.
class WatchedBytes {
 public:
  // Elements of `granule` bytes.
  WatchedBytes(std::size_t size, std::size_t granule, const char* name, bool is_shared = false);
  WatchedBytes(const WatchedBytes&) = delete;
  WatchedBytes& operator=(const WatchedBytes&) = delete;
  ~WatchedBytes();

  void* data() const { return data_; }
  std::size_t size() const { return size_; }
  // Until it is written a byte is not to be read; it holds 0xFF, which is NaN in every float.
  void set_unwritten();
  void set_written();

 private:
  std::byte* memory_;
  std::byte* data_ = nullptr;
  std::size_t size_;
};

// Dynamic shared memory, and the static kind, which the linker gathers in a section.
class SharedArena {
 public:
  void resize(std::size_t bytes);
  void begin_block();
  void* data() const { return bytes_ == nullptr ? nullptr : bytes_->data(); }

 private:
  std::unique_ptr<WatchedBytes> bytes_;
};

// An array in the device's memory.
template <class T>
class Buffer {
 public:
  // Not to be read before a kernel writes it.
  explicit Buffer(std::size_t count) : bytes_(count * sizeof(T), sizeof(T), "a buffer"), count_(count) {
    bytes_.set_unwritten();
  }
  explicit Buffer(const std::vector<T>& values) : Buffer(values.size()) {
    if (count_ > 0) std::memcpy(bytes_.data(), values.data(), count_ * sizeof(T));
    bytes_.set_written();
  }

  T* data() const { return static_cast<T*>(bytes_.data()); }
  std::size_t size() const { return count_; }
  std::vector<T> values() const { return {data(), data() + count_}; }

 private:
  WatchedBytes bytes_;
  std::size_t count_;
};

}  // namespace servetwin::emulator
