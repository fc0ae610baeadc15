// A hash table in one array, without iteration: its order could leak into decisions, so nobody can ask for
// it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace servetwin {

// Spreads an integer over 64 bits (splitmix64's final mix).
constexpr std::uint64_t hash_of(std::uint64_t key) {
  key = (key ^ (key >> 30)) * 0xbf58476d1ce4e5b9ULL;
  key = (key ^ (key >> 27)) * 0x94d049bb133111ebULL;
  return key ^ (key >> 31);
}

// Open addressing with linear probing and backward-shift deletion: no tombstones, so it never degrades.
// Key needs == and a function std::uint64_t hash_of(Key) beside its type. Pointers last until the next
// insert, erase or reserve.
template <class Key, class Value>
class FlatMap {
 public:
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  Value* find(const Key& key) {
    if (slots_.empty()) return nullptr;
    Slot& slot = slots_[slot_of(key)];
    return slot.used ? &slot.value : nullptr;
  }

  const Value* find(const Key& key) const {
    if (slots_.empty()) return nullptr;
    const Slot& slot = slots_[slot_of(key)];
    return slot.used ? &slot.value : nullptr;
  }

  // The value of the key, and whether it is new; one that was there stays as it was.
  std::pair<Value*, bool> insert(const Key& key, Value value) {
    if ((size_ + 1) * 4 > slots_.size() * 3) rehash(slots_.empty() ? 16 : slots_.size() * 2);
    Slot& slot = slots_[slot_of(key)];
    if (slot.used) return {&slot.value, false};
    slot = Slot{key, std::move(value), true};
    ++size_;
    return {&slot.value, true};
  }

  // Whether there was one.
  bool erase(const Key& key) {
    if (slots_.empty()) return false;
    std::size_t hole = slot_of(key);
    if (!slots_[hole].used) return false;
    for (std::size_t at = next(hole); slots_[at].used; at = next(at)) {
      const std::size_t home = home_of(slots_[at].key);
      if (((at - home) & mask()) < ((at - hole) & mask())) continue;
      slots_[hole] = std::move(slots_[at]);
      hole = at;
    }
    slots_[hole] = Slot{};
    --size_;
    return true;
  }

  void clear() {
    slots_.clear();
    size_ = 0;
  }

  // Room for `count` keys without moving any.
  void reserve(std::size_t count) {
    std::size_t capacity = 16;
    while (count * 4 > capacity * 3) capacity *= 2;
    if (capacity > slots_.size()) rehash(capacity);
  }

 private:
  struct Slot {
    Key key{};
    Value value{};
    bool used = false;
  };

  std::size_t mask() const { return slots_.size() - 1; }
  std::size_t next(std::size_t at) const { return (at + 1) & mask(); }
  std::size_t home_of(const Key& key) const { return static_cast<std::size_t>(hash_of(key)) & mask(); }

  // Where the key is, or the free slot where it would go.
  std::size_t slot_of(const Key& key) const {
    std::size_t at = home_of(key);
    while (slots_[at].used && !(slots_[at].key == key)) at = next(at);
    return at;
  }

  void rehash(std::size_t capacity) {
    std::vector<Slot> old(capacity);
    old.swap(slots_);
    for (Slot& slot : old) {
      if (slot.used) slots_[slot_of(slot.key)] = std::move(slot);
    }
  }

  std::vector<Slot> slots_;
  std::size_t size_ = 0;
};

}  // namespace servetwin
