// A file of weights: mapped read-only, never executed, never written, checked for changes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace servetwin {

using ByteSpan = std::span<const std::byte>;

// Movable owner of one mapping. Bytes seen through `bytes()` are those of the file at the time of access:
// if another process shortens the file, touching them ends the process, so what is copied out once goes
// through `read`, which reports that instead.
class ModelFile {
 public:
  // Throws ConfigError for what is no readable regular file, or empty.
  explicit ModelFile(const std::string& path);
  ~ModelFile();
  ModelFile(ModelFile&& other) noexcept;
  ModelFile& operator=(ModelFile&& other) noexcept;
  ModelFile(const ModelFile&) = delete;
  ModelFile& operator=(const ModelFile&) = delete;

  const std::string& path() const { return path_; }
  ByteSpan bytes() const { return {mapping_, size_}; }
  // Fills `to` from `begin`. Throws ConfigError when the file has become shorter.
  void read(std::uint64_t begin, std::span<std::byte> to) const;
  // Throws ConfigError when size or time of modification are no longer those found at opening.
  void check_unchanged() const;

 private:
  struct Stamp {
    std::int64_t size = 0;
    std::int64_t modified_s = 0;
    std::int64_t modified_ns = 0;
    bool operator==(const Stamp&) const = default;
  };
  Stamp stamp() const;
  void release() noexcept;

  std::string path_;
  int descriptor_ = -1;
  const std::byte* mapping_ = nullptr;
  std::size_t size_ = 0;
  Stamp stamp_;
};

}  // namespace servetwin
