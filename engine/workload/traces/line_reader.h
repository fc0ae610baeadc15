// Lines of a text with bounded memory: counts them, refuses NUL bytes and lines above a cap, digests what it
// read.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/digest.h"
#include "engine/workload/traces/byte_reader.h"

namespace servetwin {

class LineReader {
 public:
  static constexpr std::size_t kMaxLine = 1 << 20;

  LineReader(std::unique_ptr<ByteReader> bytes, std::string name);

  // The next line that is not blank, without its line end and without a byte order mark; it lasts until the
  // next call. False at the end.
  bool next(std::string_view& line);

  const std::string& name() const { return name_; }
  std::int64_t line_number() const { return line_number_; }  // of the line given last, from 1
  std::int64_t bytes() const { return bytes_; }              // of the text so far
  // Of the lines so far, whatever their line ends and the compression.
  const Digest& digest() const { return digest_; }

 private:
  bool next_raw(std::string_view& line);
  bool refill();
  void add_to_digest(std::string_view line);

  std::unique_ptr<ByteReader> bytes_source_;
  std::string name_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;  // of what is not given yet
  std::size_t end_ = 0;    // of what was read
  bool at_end_ = false;
  std::int64_t line_number_ = 0;
  std::int64_t bytes_ = 0;
  Digest digest_;
};

}  // namespace servetwin
