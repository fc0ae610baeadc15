// The bytes of a matrix: its own, or a part of another's.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace servetwin {

// A copy of bytes of its own is a copy; a copy of a part is the same part.
class MatrixBytes {
 public:
  MatrixBytes() = default;
  MatrixBytes(std::vector<std::byte> bytes)  // a vector becomes a matrix's by being handed over
      : own_(std::move(bytes)) {}

  const std::byte* data() const { return own_.empty() ? part_.data() : own_.data(); }
  std::size_t size() const { return own_.empty() ? part_.size() : own_.size(); }
  bool empty() const { return size() == 0; }
  const std::byte* begin() const { return data(); }
  const std::byte* end() const { return data() + size(); }

  // `size` bytes from `first` on, not copied: valid as long as these, also after they were moved.
  MatrixBytes part(std::size_t first, std::size_t size) const {
    MatrixBytes part;
    part.part_ = std::span(data(), this->size()).subspan(first, size);
    return part;
  }

  friend bool operator==(const MatrixBytes& a, const MatrixBytes& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  std::vector<std::byte> own_;
  std::span<const std::byte> part_;
};

}  // namespace servetwin
