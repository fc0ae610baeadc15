// zstd's streaming interface around a plain file.
#include "engine/journal/frame_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <unistd.h>
#include <utility>
#include <zstd.h>

#include "engine/base/check.h"
#include "engine/base/error.h"

namespace servetwin {
namespace {

constexpr int kCompressionLevel = 3;
// A window of 8 MiB: what a reader may have to hold besides the frame's text.
constexpr int kMaxWindowLog = 23;
constexpr std::uint64_t kFreeExpansion = std::uint64_t{1} << 20;

void check_zstd(std::size_t code) { CHECK_INVARIANT(!ZSTD_isError(code), ZSTD_getErrorName(code)); }

}  // namespace

void FrameWriter::ContextDeleter::operator()(ZSTD_CCtx_s* context) const { ZSTD_freeCCtx(context); }

void FrameReader::ContextDeleter::operator()(ZSTD_DCtx_s* context) const { ZSTD_freeDCtx(context); }

FrameWriter::FrameWriter(std::string path)
    : path_(std::move(path)),
      file_(std::fopen(path_.c_str(), "wb")),
      context_(ZSTD_createCCtx()),
      buffer_(ZSTD_CStreamOutSize()) {
  if (file_ == nullptr) fail("opened");
  CHECK_INVARIANT(context_ != nullptr);
  check_zstd(ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_compressionLevel, kCompressionLevel));
  check_zstd(ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_checksumFlag, 1));
}

FrameWriter::~FrameWriter() = default;

void FrameWriter::write(std::string_view text) {
  if (text.empty()) return;
  open_frame_ = true;
  compress(text, false);
}

void FrameWriter::end_frame() {
  if (!open_frame_) return;
  compress({}, true);
  open_frame_ = false;
  if (std::fflush(file_.get()) != 0) fail("written");
}

void FrameWriter::close() {
  end_frame();
  // Devices and pipes cannot be synchronised, and need not be.
  if (::fsync(::fileno(file_.get())) != 0 && errno != EINVAL && errno != EROFS) fail("synchronised");
  if (std::fclose(file_.release()) != 0) fail("closed");
}

void FrameWriter::compress(std::string_view text, bool end) {
  CHECK_INVARIANT(file_ != nullptr, path_);
  ZSTD_inBuffer in{text.data(), text.size(), 0};
  std::size_t left = 0;
  do {
    ZSTD_outBuffer out{buffer_.data(), buffer_.size(), 0};
    left = ZSTD_compressStream2(context_.get(), &out, &in, end ? ZSTD_e_end : ZSTD_e_continue);
    check_zstd(left);
    if (std::fwrite(buffer_.data(), 1, out.pos, file_.get()) != out.pos) fail("written");
    bytes_written_ += out.pos;
  } while (end ? left != 0 : in.pos < in.size);
}

void FrameWriter::fail(const char* what) const {
  throw IoError(
      fmt::format("{}: cannot be {} after {} bytes: {}", path_, what, bytes_written_, std::strerror(errno)));
}

FrameReader::FrameReader(FilePtr file, const FrameLimits& limits)
    : file_(std::move(file)),
      limits_(limits),
      context_(ZSTD_createDCtx()),
      input_(ZSTD_DStreamInSize()),
      output_(ZSTD_DStreamOutSize()) {
  CHECK_INVARIANT(file_ != nullptr);
  CHECK_INVARIANT(context_ != nullptr);
  check_zstd(ZSTD_DCtx_setParameter(context_.get(), ZSTD_d_windowLogMax, kMaxWindowLog));
}

FrameReader::~FrameReader() = default;

bool FrameReader::fill() {
  if (input_used_ < input_size_) return true;
  input_used_ = 0;
  input_size_ = std::fread(input_.data(), 1, input_.size(), file_.get());
  return input_size_ > 0;
}

FrameResult FrameReader::end_of_input(FrameResult result) const {
  return std::ferror(file_.get()) != 0 ? FrameResult::kUnreadable : result;
}

FrameResult FrameReader::next(std::string& text) {
  text.clear();
  frame_offset_ = offset_;
  if (!fill()) return end_of_input(FrameResult::kEnd);
  check_zstd(ZSTD_DCtx_reset(context_.get(), ZSTD_reset_session_only));
  std::size_t left = 1;
  bool output_full = false;
  while (left != 0) {
    if (!output_full && !fill()) return end_of_input(FrameResult::kTorn);
    ZSTD_inBuffer in{input_.data(), input_size_, input_used_};
    ZSTD_outBuffer out{output_.data(), output_.size(), 0};
    left = ZSTD_decompressStream(context_.get(), &out, &in);
    if (ZSTD_isError(left)) return FrameResult::kCorrupt;
    offset_ += in.pos - input_used_;
    input_used_ = in.pos;
    output_full = out.pos == out.size;
    text.append(output_.data(), out.pos);
    const std::uint64_t expansion_limit =
        std::max(kFreeExpansion, limits_.max_expansion * (offset_ - frame_offset_));
    if (text.size() > std::min(limits_.max_frame_bytes, expansion_limit)) return FrameResult::kTooLarge;
  }
  return FrameResult::kFrame;
}

}  // namespace servetwin
