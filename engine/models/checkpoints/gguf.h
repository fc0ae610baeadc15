// Reads GGUF files: typed metadata and the table of tensors. Versions 2 and 3, little-endian.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "engine/models/checkpoints/checkpoint.h"

namespace servetwin {

// Integers of every width and sign are int64, floats are doubles, arrays of booleans are arrays of 0 and 1.
using GgufValue = std::variant<bool,
                               std::int64_t,
                               double,
                               std::string,
                               std::vector<std::int64_t>,
                               std::vector<double>,
                               std::vector<std::string>>;

class GgufMetadata {
 public:
  explicit GgufMetadata(std::string file) : file_(std::move(file)) {}

  bool add(const std::string& key, GgufValue value) { return values_.emplace(key, std::move(value)).second; }
  const std::map<std::string, GgufValue>& values() const { return values_; }
  const std::string& file() const { return file_; }

  // Each is empty or null when the key is absent, and throws ConfigError when its value is of another kind.
  std::optional<bool> flag(const std::string& key) const;
  std::optional<std::int64_t> integer(const std::string& key) const;
  std::optional<double> number(const std::string& key) const;  // integers too
  const std::string* text(const std::string& key) const;
  const std::vector<std::int64_t>* integers(const std::string& key) const;
  const std::vector<double>* numbers(const std::string& key) const;
  const std::vector<std::string>* texts(const std::string& key) const;

 private:
  template <class T>
  const T* find(const std::string& key, const char* kind) const;

  std::string file_;
  std::map<std::string, GgufValue> values_;
};

struct GgufTable {
  GgufMetadata metadata;
  std::vector<TensorInfo> tensors;
};

// Of the bytes of a whole file, whose name is for messages. Throws ConfigError, with a code for each kind of
// fault: docs/models.md lists them. Shapes are outermost first, the reverse of the file's.
GgufTable read_gguf_table(ByteSpan bytes, const std::string& file);

struct GgufFile {
  GgufMetadata metadata;
  Checkpoint checkpoint;
};

GgufFile open_gguf(const std::string& file);

}  // namespace servetwin
