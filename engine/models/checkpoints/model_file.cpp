// Opens without blocking, so that a pipe or a device is refused rather than waited for.
#include "engine/models/checkpoints/model_file.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "engine/models/checkpoints/model_error.h"

namespace servetwin {
namespace {

[[noreturn]] void fail_open(const std::string& path, const std::string& message) {
  fail_model(path, "", {kModelFileMissing, message, "name a regular file that can be read"});
}

[[noreturn]] void fail_changed(const std::string& path, const std::string& message) {
  fail_model(path, "", {kModelFileChanged, message, "load a file that nothing writes to"});
}

}  // namespace

ModelFile::ModelFile(const std::string& path) : path_(path) {
  descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor_ < 0) fail_open(path, std::string("cannot be opened: ") + std::strerror(errno));
  struct stat status {};
  const bool is_file = ::fstat(descriptor_, &status) == 0 && S_ISREG(status.st_mode);
  const bool is_usable = is_file && status.st_size > 0;
  if (is_usable) {
    size_ = static_cast<std::size_t>(status.st_size);
    void* mapped = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, descriptor_, 0);
    if (mapped != MAP_FAILED) mapping_ = static_cast<const std::byte*>(mapped);
  }
  if (mapping_ == nullptr) {
    release();  // the destructor of an object whose constructor throws never runs
    fail_open(path, !is_file ? "is no regular file" : is_usable ? "cannot be mapped" : "is empty");
  }
  stamp_ = stamp();
  if (stamp_.size != status.st_size) {
    release();
    fail_changed(path, "changes its size while it is opened");
  }
}

ModelFile::~ModelFile() { release(); }

ModelFile::ModelFile(ModelFile&& other) noexcept { *this = std::move(other); }

ModelFile& ModelFile::operator=(ModelFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(mapping_, other.mapping_);
  std::swap(size_, other.size_);
  std::swap(stamp_, other.stamp_);
  return *this;
}

void ModelFile::read(std::uint64_t begin, std::span<std::byte> to) const {
  std::size_t done = 0;
  while (done < to.size()) {
    const ssize_t count =
        ::pread(descriptor_, to.data() + done, to.size() - done, static_cast<off_t>(begin + done));
    if (count > 0) {
      done += static_cast<std::size_t>(count);
    } else if (count == 0) {
      fail_changed(path_, "has become shorter since it was opened with " + std::to_string(size_) + " bytes");
    } else if (errno != EINTR) {
      fail_open(path_, std::string("cannot be read: ") + std::strerror(errno));
    }
  }
}

void ModelFile::check_unchanged() const {
  const Stamp now = stamp();
  if (now == stamp_) return;
  fail_changed(path_, "was changed since it was opened: " + std::to_string(stamp_.size) + " bytes then, " +
                          std::to_string(now.size) + " now");
}

ModelFile::Stamp ModelFile::stamp() const {
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0) return {};
  return {status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
}

void ModelFile::release() noexcept {
  if (mapping_ != nullptr) ::munmap(const_cast<std::byte*>(mapping_), size_);
  if (descriptor_ >= 0) ::close(descriptor_);
  mapping_ = nullptr;
  descriptor_ = -1;
}

}  // namespace servetwin
