// POSIX calls, because a stream cannot wait for the disk and hides why a write failed.
#include "engine/metrics/output_file.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "engine/base/error.h"

namespace servetwin {
namespace {

bool is_special(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
}

}  // namespace

OutputFile::OutputFile(std::string path)
    : path_(std::move(path)), written_path_(is_special(path_) ? path_ : path_ + ".partial") {
  descriptor_ = ::open(written_path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor_ < 0) fail("cannot create");
}

OutputFile::~OutputFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  if (written_path_ != path_) ::unlink(written_path_.c_str());
}

void OutputFile::append_integer(std::int64_t value) {
  std::array<char, 20> digits{};
  const char* end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  append(std::string_view(digits.data(), static_cast<std::size_t>(end - digits.data())));
}

void OutputFile::flush() {
  const char* from = buffer_.data();
  std::size_t left = buffer_.size();
  while (left > 0) {
    const ssize_t written = ::write(descriptor_, from, left);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("cannot write");
    from += written;
    left -= static_cast<std::size_t>(written);
  }
  flushed_ += static_cast<std::int64_t>(buffer_.size());
  buffer_.clear();
}

void OutputFile::commit() {
  flush();
  const bool in_place = written_path_ == path_;
  if (!in_place && ::fsync(descriptor_) != 0) fail("cannot write");
  const int closed = ::close(descriptor_);
  descriptor_ = -1;
  if (closed == 0 && (in_place || std::rename(written_path_.c_str(), path_.c_str()) == 0)) return;
  const int why = errno;
  if (!in_place) ::unlink(written_path_.c_str());
  errno = why;
  fail(closed == 0 ? "cannot rename the finished file to" : "cannot write");
}

void OutputFile::fail(const char* what) const {
  throw IoError(std::string(what) + " " + path_ + ": " + std::strerror(errno));
}

void write_file(const std::string& path, std::string_view content) {
  OutputFile file(path);
  file.append(content);
  file.commit();
}

}  // namespace servetwin
