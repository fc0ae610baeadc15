// Builds model files byte by byte, whole or broken on purpose, and says which code a reader refuses them
// with.
#pragma once

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/base/error.h"
#include "engine/models/checkpoints/model_file.h"
#include "tests/support/catch.h"

namespace servetwin {

template <class T>
std::string raw(T value) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

inline std::string raw_floats(const std::vector<float>& values) {
  std::string bytes;
  for (const float value : values) bytes += raw(value);
  return bytes;
}

inline ByteSpan span_of(const std::string& bytes) {
  return std::as_bytes(std::span(bytes.data(), bytes.size()));
}

inline std::string safetensors_bytes(const std::string& header, const std::string& data = "") {
  return raw<std::uint64_t>(header.size()) + header + data;
}

// A length and the text, as GGUF writes it.
inline std::string gguf_text(const std::string& text) { return raw<std::uint64_t>(text.size()) + text; }

// A GGUF file from its parts. Offsets follow from the tensors' sizes unless one is stated.
class GgufBuilder {
 public:
  std::uint32_t version = 3;
  std::uint64_t alignment = 32;

  GgufBuilder& pair(const std::string& key, std::uint32_t type, const std::string& value) {
    pairs_ += gguf_text(key) + raw(type) + value;
    ++num_pairs_;
    return *this;
  }
  GgufBuilder& text(const std::string& key, const std::string& value) {
    return pair(key, 8, gguf_text(value));
  }
  GgufBuilder& count(const std::string& key, std::uint32_t value) { return pair(key, 4, raw(value)); }
  GgufBuilder& number(const std::string& key, float value) { return pair(key, 6, raw(value)); }

  // `shape` is in the file's order: the contiguous dimension first.
  GgufBuilder& tensor(const std::string& name,
                      const std::vector<std::uint64_t>& shape,
                      std::uint32_t type,
                      const std::string& data) {
    return tensor_at(name, shape, type, data_.size()).add_data(data);
  }
  GgufBuilder& tensor_at(const std::string& name,
                         const std::vector<std::uint64_t>& shape,
                         std::uint32_t type,
                         std::uint64_t offset) {
    table_ += gguf_text(name) + raw(static_cast<std::uint32_t>(shape.size()));
    for (const std::uint64_t size : shape) table_ += raw(size);
    table_ += raw(type) + raw(offset);
    ++num_tensors_;
    return *this;
  }
  GgufBuilder& add_data(const std::string& data) {
    data_ += data;
    pad(data_);
    return *this;
  }

  std::string bytes() const {
    std::string file = "GGUF" + raw(version) + raw(num_tensors_) + raw(num_pairs_) + pairs_ + table_;
    pad(file);
    return file + data_;
  }

 private:
  void pad(std::string& bytes) const {
    bytes.resize((bytes.size() + alignment - 1) / alignment * alignment, '\0');
  }

  std::uint64_t num_pairs_ = 0;
  std::uint64_t num_tensors_ = 0;
  std::string pairs_;
  std::string table_;
  std::string data_;
};

// The only problem that `read` throws, or a failure of the test when it throws none.
template <class Read>
Problem problem_of_reading(const Read& read) {
  try {
    read();
  } catch (const ConfigError& error) {
    REQUIRE(error.problems().size() == 1);
    return error.problems().front();
  }
  FAIL("was accepted");
  return {};
}

inline bool mentions(const Problem& problem, const std::string& text) {
  return to_string(problem).find(text) != std::string::npos;
}

// A folder of its own, gone at the end.
class ModelFolder {
 public:
  explicit ModelFolder(const std::string& name)
      : path_(std::filesystem::path(SERVETWIN_BINARY_DIR) / ("model_" + name)) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~ModelFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ModelFolder(const ModelFolder&) = delete;
  ModelFolder& operator=(const ModelFolder&) = delete;

  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path_ / name, std::ios::binary) << bytes;
    return (path_ / name).string();
  }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace servetwin
