// Bytes of a trace, wherever they are and however they are compressed, with bounded memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace servetwin {

class ByteReader {
 public:
  virtual ~ByteReader() = default;
  // Fills `buffer` with up to `size` bytes; 0 only at the end. Throws ConfigError for damaged or truncated
  // data and IoError where the file cannot be read.
  virtual std::size_t read(char* buffer, std::size_t size) = 0;
};

// Guards against compressed files that expand without end.
struct ExpansionLimits {
  std::int64_t max_bytes = std::int64_t{64} << 30;
  std::int64_t max_ratio = 250;  // expanded over compressed, once `always_allowed` is exceeded
  std::int64_t always_allowed = 16 << 20;
};

enum class Compression { kNone, kGzip, kZstd };
const char* to_string(Compression compression);

// A regular file; anything else is refused.
std::unique_ptr<ByteReader> read_file(const std::string& path);
// The text must outlive the reader.
std::unique_ptr<ByteReader> read_memory(std::string_view bytes);

struct OpenedBytes {
  std::unique_ptr<ByteReader> reader;
  Compression compression = Compression::kNone;
};
// Looks at the first bytes, never at the name, and undoes gzip or zstd. `name` is for messages.
OpenedBytes decompressed(std::unique_ptr<ByteReader> raw,
                         const std::string& name,
                         const ExpansionLimits& limits = {});

}  // namespace servetwin
