// Takes values off the front of a GGUF file; every length is held against what is left before it is used.
#pragma once

#include <cstring>
#include <string>

#include "engine/models/checkpoints/gguf.h"
#include "engine/models/checkpoints/model_error.h"

namespace servetwin {

class GgufCursor {
 public:
  GgufCursor(ByteSpan bytes, const std::string& file) : bytes_(bytes), file_(file) {}

  std::uint64_t position() const { return at_; }
  std::uint64_t left() const { return bytes_.size() - at_; }

  // Little-endian, as the hosts this program runs on. `what` is for the message when the file ends here.
  template <class T>
  T take(const char* what) {
    T value{};
    std::memcpy(&value, take_bytes(sizeof value, what).data(), sizeof value);
    return value;
  }

  // A length and that many bytes. `limit` is the longest that is believed.
  std::string take_text(std::uint64_t limit, const char* what);

  // A number of things that take at least `least` bytes each.
  std::uint64_t take_count(std::uint64_t least, std::uint64_t limit, const char* what);

 private:
  ByteSpan take_bytes(std::uint64_t count, const char* what);

  ByteSpan bytes_;
  const std::string& file_;
  std::uint64_t at_ = 0;
};

// Reads `count` pairs of key and typed value.
void read_gguf_metadata(GgufCursor& cursor, std::uint64_t count, GgufMetadata& metadata);

}  // namespace servetwin
