// Text in self-contained zstd frames, each with its checksum: a file torn anywhere keeps all frames before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;

namespace servetwin {

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

using FilePtr = std::unique_ptr<std::FILE, FileCloser>;

// Appends frames to a file. Every failure is an IoError that names the file and the bytes written so far.
class FrameWriter {
 public:
  // Makes the file, or empties it when it exists.
  explicit FrameWriter(std::string path);
  ~FrameWriter();
  FrameWriter(const FrameWriter&) = delete;
  FrameWriter& operator=(const FrameWriter&) = delete;

  // Adds text to the open frame.
  void write(std::string_view text);
  // Ends the open frame and hands it to the system; nothing happens when it is empty.
  void end_frame();
  // Ends the open frame and waits until the file is on the disk. Nothing may be written afterwards.
  void close();

  std::uint64_t bytes_written() const { return bytes_written_; }

 private:
  // Compresses `text`; `end` closes the frame.
  void compress(std::string_view text, bool end);
  [[noreturn]] void fail(const char* what) const;

  struct ContextDeleter {
    void operator()(ZSTD_CCtx_s* context) const;
  };

  std::string path_;
  FilePtr file_;
  std::unique_ptr<ZSTD_CCtx_s, ContextDeleter> context_;
  std::vector<char> buffer_;
  std::uint64_t bytes_written_ = 0;
  bool open_frame_ = false;
};

// What a frame may cost a reader.
struct FrameLimits {
  std::uint64_t max_frame_bytes = std::uint64_t{64} << 20;  // expanded
  std::uint64_t max_expansion = 2000;                       // expanded bytes per compressed byte, above 1 MiB
};

enum class FrameResult : std::uint8_t { kFrame, kEnd, kTorn, kCorrupt, kTooLarge, kUnreadable };

// Reads whole frames, one at a time.
class FrameReader {
 public:
  FrameReader(FilePtr file, const FrameLimits& limits);
  ~FrameReader();
  FrameReader(const FrameReader&) = delete;
  FrameReader& operator=(const FrameReader&) = delete;

  // The text of the next frame. kTorn: the file ends within a frame, whose text is not given.
  FrameResult next(std::string& text);
  // Offset in the file of the frame that next() gave or failed at.
  std::uint64_t frame_offset() const { return frame_offset_; }
  // Bytes from there to the end of the file, known after kTorn.
  std::uint64_t torn_bytes() const { return offset_ - frame_offset_; }

 private:
  bool fill();
  FrameResult end_of_input(FrameResult result) const;

  struct ContextDeleter {
    void operator()(ZSTD_DCtx_s* context) const;
  };

  FilePtr file_;
  FrameLimits limits_;
  std::unique_ptr<ZSTD_DCtx_s, ContextDeleter> context_;
  std::vector<char> input_;
  std::vector<char> output_;
  std::size_t input_used_ = 0;
  std::size_t input_size_ = 0;
  std::uint64_t offset_ = 0;  // of the next byte to decode
  std::uint64_t frame_offset_ = 0;
};

}  // namespace servetwin
