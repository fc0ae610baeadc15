// Bytes that several may look at: they live as long as anybody who has them or a part of them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace servetwin {

class SharedBytes {
 public:
  SharedBytes() = default;
  SharedBytes(std::vector<std::byte> bytes)  // a vector becomes shared by being handed over
      : owner_(std::make_shared<const std::vector<std::byte>>(std::move(bytes))), view_(*owner_) {}

  const std::byte* data() const { return view_.data(); }
  std::size_t size() const { return view_.size(); }
  bool empty() const { return view_.empty(); }
  const std::byte* begin() const { return data(); }
  const std::byte* end() const { return data() + size(); }

  // `size` bytes from `first` on, not copied.
  SharedBytes part(std::size_t first, std::size_t size) const {
    SharedBytes part = *this;
    part.view_ = view_.subspan(first, size);
    return part;
  }

  friend bool operator==(const SharedBytes& a, const SharedBytes& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  std::shared_ptr<const std::vector<std::byte>> owner_;
  std::span<const std::byte> view_;
};

}  // namespace servetwin
