// Files, memory, gzip and zstd behind one pull interface.
#include "engine/workload/traces/byte_reader.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>
#include <zlib.h>
#include <zstd.h>

#include "engine/base/check.h"
#include "engine/workload/traces/trace_error.h"

namespace servetwin {
namespace {

constexpr std::size_t kChunk = 64 * 1024;

class FileReader final : public ByteReader {
 public:
  explicit FileReader(const std::string& path) : path_(path), file_(path, std::ios::binary) {
    if (!file_) throw IoError(path + ": cannot be opened for reading");
  }
  std::size_t read(char* buffer, std::size_t size) override {
    file_.read(buffer, static_cast<std::streamsize>(size));
    if (file_.bad()) throw IoError(path_ + ": reading failed");
    return static_cast<std::size_t>(file_.gcount());
  }

 private:
  std::string path_;
  std::ifstream file_;
};

class MemoryReader final : public ByteReader {
 public:
  explicit MemoryReader(std::string_view bytes) : rest_(bytes) {}
  std::size_t read(char* buffer, std::size_t size) override {
    const std::size_t count = std::min(size, rest_.size());
    if (count > 0) std::memcpy(buffer, rest_.data(), count);
    rest_.remove_prefix(count);
    return count;
  }

 private:
  std::string_view rest_;
};

// A reader whose first bytes may be looked at before they are taken.
class PeekReader final : public ByteReader {
 public:
  explicit PeekReader(std::unique_ptr<ByteReader> inner) : inner_(std::move(inner)) {
    while (head_.size() < 4) {
      char buffer[4];
      const std::size_t got = inner_->read(buffer, 4 - head_.size());
      if (got == 0) break;
      head_.append(buffer, got);
    }
  }
  const std::string& head() const { return head_; }
  std::size_t read(char* buffer, std::size_t size) override {
    if (taken_ == head_.size()) return inner_->read(buffer, size);
    const std::size_t count = std::min(size, head_.size() - taken_);
    std::memcpy(buffer, head_.data() + taken_, count);
    taken_ += count;
    return count;
  }

 private:
  std::unique_ptr<ByteReader> inner_;
  std::string head_;
  std::size_t taken_ = 0;
};

// The compressed side: a chunk at a time, and the count that the expansion is held against.
class CompressedInput {
 public:
  CompressedInput(std::unique_ptr<ByteReader> raw, std::string name, const ExpansionLimits& limits)
      : raw_(std::move(raw)), name_(std::move(name)), limits_(limits), buffer_(kChunk) {}

  // False at the end of the file.
  bool refill() {
    size_ = raw_->read(buffer_.data(), buffer_.size());
    bytes_in_ += static_cast<std::int64_t>(size_);
    return size_ > 0;
  }
  char* data() { return buffer_.data(); }
  std::size_t size() const { return size_; }

  void count_out(std::size_t bytes) {
    bytes_out_ += static_cast<std::int64_t>(bytes);
    if (bytes_out_ > limits_.max_bytes) {
      damaged("expands to more than " + std::to_string(limits_.max_bytes) + " bytes");
    }
    if (bytes_out_ > limits_.always_allowed && bytes_out_ / limits_.max_ratio > bytes_in_) {
      damaged("expands more than " + std::to_string(limits_.max_ratio) + " times");
    }
  }
  [[noreturn]] void damaged(const std::string& message) const {
    throw trace_error(kCodeTraceDamaged, name_, 0, message, "get the file again, or give it uncompressed");
  }

 private:
  std::unique_ptr<ByteReader> raw_;
  std::string name_;
  ExpansionLimits limits_;
  std::vector<char> buffer_;
  std::size_t size_ = 0;
  std::int64_t bytes_in_ = 0;
  std::int64_t bytes_out_ = 0;
};

class GzipReader final : public ByteReader {
 public:
  explicit GzipReader(CompressedInput input) : input_(std::move(input)) {
    constexpr int kGzipOnly = 16 + MAX_WBITS;
    CHECK_INVARIANT(inflateInit2(&stream_, kGzipOnly) == Z_OK);
  }
  GzipReader(const GzipReader&) = delete;
  GzipReader& operator=(const GzipReader&) = delete;
  ~GzipReader() override { inflateEnd(&stream_); }

  std::size_t read(char* buffer, std::size_t size) override {
    stream_.next_out = reinterpret_cast<Bytef*>(buffer);
    stream_.avail_out = static_cast<uInt>(size);
    while (stream_.avail_out == size) {
      if (stream_.avail_in == 0 && !refill()) {
        if (!member_ended_) input_.damaged("the gzip data are truncated");
        break;
      }
      if (member_ended_) next_member();
      const int status = inflate(&stream_, Z_NO_FLUSH);
      if (status == Z_STREAM_END) {
        member_ended_ = true;
      } else if (status != Z_OK && status != Z_BUF_ERROR) {
        input_.damaged(std::string("the gzip data are damaged: ") +
                       (stream_.msg != nullptr ? stream_.msg : "unknown error"));
      }
    }
    const std::size_t produced = size - stream_.avail_out;
    input_.count_out(produced);
    return produced;
  }

 private:
  bool refill() {
    if (!input_.refill()) return false;
    stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
    stream_.avail_in = static_cast<uInt>(input_.size());
    return true;
  }
  // A gzip file may be several members one after the other.
  void next_member() {
    CHECK_INVARIANT(inflateReset(&stream_) == Z_OK);
    member_ended_ = false;
  }

  CompressedInput input_;
  z_stream stream_{};
  bool member_ended_ = false;
};

class ZstdReader final : public ByteReader {
 public:
  explicit ZstdReader(CompressedInput input) : input_(std::move(input)), context_(ZSTD_createDCtx()) {
    CHECK_INVARIANT(context_ != nullptr);
    // Frames that ask for a window above 128 MiB are refused: memory stays bounded.
    ZSTD_DCtx_setParameter(context_.get(), ZSTD_d_windowLogMax, 27);
  }

  std::size_t read(char* buffer, std::size_t size) override {
    ZSTD_outBuffer out{buffer, size, 0};
    while (out.pos == 0) {
      if (in_.pos == in_.size && !refill()) {
        // What is left inside the decoder comes out without further input; only then is the end the end.
        const std::size_t before = out.pos;
        step(out);
        if (out.pos == before && !frame_ended_) input_.damaged("the zstd data are truncated");
        if (out.pos == before) break;
        continue;
      }
      step(out);
    }
    input_.count_out(out.pos);
    return out.pos;
  }

 private:
  struct FreeContext {
    void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
  };

  bool refill() {
    if (!input_.refill()) return false;
    in_ = ZSTD_inBuffer{input_.data(), input_.size(), 0};
    return true;
  }
  void step(ZSTD_outBuffer& out) {
    if (in_.pos == in_.size && frame_ended_) return;
    const std::size_t status = ZSTD_decompressStream(context_.get(), &out, &in_);
    if (ZSTD_isError(status) != 0) {
      input_.damaged(std::string("the zstd data are damaged: ") + ZSTD_getErrorName(status));
    }
    frame_ended_ = status == 0;
  }

  CompressedInput input_;
  std::unique_ptr<ZSTD_DCtx, FreeContext> context_;
  ZSTD_inBuffer in_{nullptr, 0, 0};
  bool frame_ended_ = false;
};

bool starts_with(const std::string& text, const char* magic, std::size_t size) {
  return text.size() >= size && std::memcmp(text.data(), magic, size) == 0;
}

}  // namespace

const char* to_string(Compression compression) {
  switch (compression) {
    case Compression::kNone:
      return "plain";
    case Compression::kGzip:
      return "gzip";
    case Compression::kZstd:
      return "zstd";
  }
  return "?";
}

std::unique_ptr<ByteReader> read_file(const std::string& path) {
  std::error_code failed;
  const auto status = std::filesystem::status(path, failed);
  if (!std::filesystem::exists(status)) {
    throw trace_error(kCodeTraceUnreadable, path, 0, "there is no such file",
                      "relative names start at the scenario's folder");
  }
  if (!std::filesystem::is_regular_file(status)) {
    throw trace_error(kCodeTraceUnreadable, path, 0, "is not a regular file", "name the trace file itself");
  }
  return std::make_unique<FileReader>(path);
}

std::unique_ptr<ByteReader> read_memory(std::string_view bytes) {
  return std::make_unique<MemoryReader>(bytes);
}

OpenedBytes decompressed(std::unique_ptr<ByteReader> raw,
                         const std::string& name,
                         const ExpansionLimits& limits) {
  auto peeked = std::make_unique<PeekReader>(std::move(raw));
  const std::string head = peeked->head();
  OpenedBytes result;
  if (starts_with(head, "\x1f\x8b", 2)) {
    result.compression = Compression::kGzip;
    result.reader = std::make_unique<GzipReader>(CompressedInput(std::move(peeked), name, limits));
  } else if (starts_with(head, "\x28\xb5\x2f\xfd", 4)) {
    result.compression = Compression::kZstd;
    result.reader = std::make_unique<ZstdReader>(CompressedInput(std::move(peeked), name, limits));
  } else {
    result.reader = std::move(peeked);
  }
  return result;
}

}  // namespace servetwin
