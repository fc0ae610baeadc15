// Cuts a stream of bytes into lines inside one buffer that grows to the cap and no further.
#include "engine/workload/traces/line_reader.h"

#include <cstring>
#include <utility>

#include "engine/workload/traces/trace_error.h"

namespace servetwin {
namespace {

constexpr std::size_t kLineBuffer = 64 * 1024;

std::string_view without_byte_order_mark(std::string_view line) {
  constexpr std::string_view kMark = "\xef\xbb\xbf";
  return line.substr(0, kMark.size()) == kMark ? line.substr(kMark.size()) : line;
}

bool is_blank(std::string_view line) { return line.find_first_not_of(" \t") == std::string_view::npos; }

}  // namespace

LineReader::LineReader(std::unique_ptr<ByteReader> bytes, std::string name)
    : bytes_source_(std::move(bytes)), name_(std::move(name)), buffer_(kLineBuffer) {}

bool LineReader::next(std::string_view& line) {
  while (next_raw(line)) {
    ++line_number_;
    if (line_number_ == 1) line = without_byte_order_mark(line);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (line.find('\0') != std::string_view::npos) {
      throw trace_error(kCodeTraceText, name_, line_number_, "there is a NUL byte",
                        "a trace is plain text in UTF-8, or compressed with gzip or zstd");
    }
    add_to_digest(line);
    if (!is_blank(line)) return true;
  }
  return false;
}

bool LineReader::next_raw(std::string_view& line) {
  std::size_t searched = 0;  // of the unfinished line
  while (true) {
    const char* start = buffer_.data() + begin_;
    const std::size_t available = end_ - begin_;
    const void* found = std::memchr(start + searched, '\n', available - searched);
    if (found != nullptr) {
      line = std::string_view(start, static_cast<std::size_t>(static_cast<const char*>(found) - start));
      begin_ += line.size() + 1;
      break;
    }
    searched = available;
    if (available > kMaxLine || !refill()) {
      line = std::string_view(buffer_.data() + begin_, available);
      begin_ = end_;
      break;
    }
  }
  if (line.size() > kMaxLine) {
    throw trace_error(kCodeTraceText, name_, line_number_ + 1,
                      "the line is longer than " + std::to_string(kMaxLine) + " bytes",
                      "one request is one line");
  }
  return !line.empty() || !at_end_ || begin_ < end_;
}

bool LineReader::refill() {
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ == buffer_.size()) buffer_.resize(buffer_.size() * 2);
  const std::size_t got = bytes_source_->read(buffer_.data() + end_, buffer_.size() - end_);
  end_ += got;
  bytes_ += static_cast<std::int64_t>(got);
  at_end_ = got == 0;
  return got > 0;
}

void LineReader::add_to_digest(std::string_view line) {
  digest_.add(line.size());
  while (!line.empty()) {
    std::uint64_t word = 0;
    const std::size_t count = line.size() < sizeof word ? line.size() : sizeof word;
    std::memcpy(&word, line.data(), count);
    digest_.add(word);
    line.remove_prefix(count);
  }
}

}  // namespace servetwin
