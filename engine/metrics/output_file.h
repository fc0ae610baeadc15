// A result file that exists under its name only when it is whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace servetwin {

// Buffers, writes to "<path>.partial", and gives the file its name in commit(). A path that names something
// other than a regular file (a device, a pipe) is written in place. Every failure is an IoError that names
// the path.
class OutputFile {
 public:
  explicit OutputFile(std::string path);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  // Without commit() the partial file is removed.
  ~OutputFile();

  const std::string& path() const { return path_; }
  std::int64_t size() const { return flushed_ + static_cast<std::int64_t>(buffer_.size()); }

  void append(std::string_view text) {
    buffer_.append(text);
    if (buffer_.size() >= kFlushSize) flush();
  }
  void append(char c) { buffer_.push_back(c); }
  void append_integer(std::int64_t value);

  // Writes what is left, waits until it is on the disk, and renames. Nothing may be appended after it.
  void commit();

 private:
  static constexpr std::size_t kFlushSize = std::size_t{1} << 16;

  void flush();
  [[noreturn]] void fail(const char* what) const;

  std::string path_;
  std::string written_path_;
  std::string buffer_;
  std::int64_t flushed_ = 0;
  int descriptor_ = -1;
};

// The whole file in one call.
void write_file(const std::string& path, std::string_view content);

}  // namespace servetwin
