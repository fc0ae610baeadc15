// The thirteen value types of GGUF metadata.
#include <limits>
#include <string_view>
#include <utility>

#include "engine/models/checkpoints/gguf.h"
#include "engine/models/checkpoints/gguf_cursor.h"
#include "engine/models/checkpoints/model_error.h"

namespace servetwin {
namespace {

constexpr std::uint64_t kMaxKey = 65'535;           // of the format
constexpr std::uint64_t kMaxText = 64U << 20U;      // a chat template is a few kB
constexpr std::uint64_t kMaxElements = 16U << 20U;  // of all arrays together; vocabularies have up to 300,000

enum class ValueType : std::uint32_t {
  kU8,
  kI8,
  kU16,
  kI16,
  kU32,
  kI32,
  kF32,
  kBool,
  kText,
  kArray,
  kU64,
  kI64,
  kF64
};

class MetadataReader {
 public:
  MetadataReader(GgufCursor& cursor, GgufMetadata& metadata) : cursor_(cursor), metadata_(metadata) {}

  void read_pair() {
    key_ = cursor_.take_text(kMaxKey, "a key");
    check_key();
    const ValueType type = take_type();
    GgufValue value = type == ValueType::kArray ? array() : scalar(type);
    if (!metadata_.add(key_, std::move(value))) fail("stands twice");
  }

 private:
  [[noreturn]] void fail(const std::string& message) const {
    fail_model(metadata_.file(), key_, {kGgufMetadata, message});
  }

  void check_key() const {
    if (key_.empty()) fail("a key is empty");
    for (const char c : key_) {
      const bool is_printable = c > ' ' && c < '\x7F';
      if (!is_printable) fail("is a key with bytes other than printable ASCII");
    }
  }

  ValueType take_type() {
    const auto type = cursor_.take<std::uint32_t>("a value's type");
    if (type > static_cast<std::uint32_t>(ValueType::kF64)) {
      fail("has a value of type " + std::to_string(type) + "; there are types 0 to 12");
    }
    return static_cast<ValueType>(type);
  }

  GgufValue scalar(ValueType type) {
    if (type == ValueType::kText) return cursor_.take_text(kMaxText, "a text value");
    if (type == ValueType::kBool) return flag();
    if (type == ValueType::kF32 || type == ValueType::kF64) return number(type);
    return integer(type);
  }

  GgufValue array() {
    const ValueType type = take_type();
    if (type == ValueType::kArray) fail("is an array of arrays, which is not supported");
    const std::uint64_t count =
        cursor_.take_count(least_bytes(type), kMaxElements - elements_, "an array's length");
    elements_ += count;
    if (type == ValueType::kText) {
      return collect<std::string>(count, [&] { return cursor_.take_text(kMaxText, "a text of an array"); });
    }
    if (type == ValueType::kF32 || type == ValueType::kF64) {
      return collect<double>(count, [&] { return number(type); });
    }
    return collect<std::int64_t>(count,
                                 [&] { return type == ValueType::kBool ? (flag() ? 1 : 0) : integer(type); });
  }

  template <class T, class Take>
  static std::vector<T> collect(std::uint64_t count, const Take& take) {
    std::vector<T> values;
    values.reserve(count);
    for (std::uint64_t i = 0; i < count; ++i) values.push_back(take());
    return values;
  }

  static std::uint64_t least_bytes(ValueType type) {
    switch (type) {
      case ValueType::kU8:
      case ValueType::kI8:
      case ValueType::kBool:
        return 1;
      case ValueType::kU16:
      case ValueType::kI16:
        return 2;
      case ValueType::kU32:
      case ValueType::kI32:
      case ValueType::kF32:
        return 4;
      default:
        return 8;
    }
  }

  bool flag() {
    const auto byte = cursor_.take<std::uint8_t>("a boolean");
    if (byte > 1) fail("has a boolean of value " + std::to_string(byte));
    return byte == 1;
  }

  double number(ValueType type) {
    if (type == ValueType::kF32) return static_cast<double>(cursor_.take<float>("a number"));
    return cursor_.take<double>("a number");
  }

  std::int64_t integer(ValueType type) {
    switch (type) {
      case ValueType::kU8:
        return cursor_.take<std::uint8_t>("an integer");
      case ValueType::kI8:
        return cursor_.take<std::int8_t>("an integer");
      case ValueType::kU16:
        return cursor_.take<std::uint16_t>("an integer");
      case ValueType::kI16:
        return cursor_.take<std::int16_t>("an integer");
      case ValueType::kU32:
        return cursor_.take<std::uint32_t>("an integer");
      case ValueType::kI32:
        return cursor_.take<std::int32_t>("an integer");
      case ValueType::kU64:
        return unsigned_integer();
      default:
        return cursor_.take<std::int64_t>("an integer");
    }
  }

  std::int64_t unsigned_integer() {
    const auto value = cursor_.take<std::uint64_t>("an integer");
    if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      fail("is " + std::to_string(value) + "; integers up to 2^63 - 1 are supported");
    }
    return static_cast<std::int64_t>(value);
  }

  GgufCursor& cursor_;
  GgufMetadata& metadata_;
  std::string key_;
  std::uint64_t elements_ = 0;
};

}  // namespace

void read_gguf_metadata(GgufCursor& cursor, std::uint64_t count, GgufMetadata& metadata) {
  MetadataReader reader(cursor, metadata);
  for (std::uint64_t i = 0; i < count; ++i) reader.read_pair();
}

template <class T>
const T* GgufMetadata::find(const std::string& key, const char* kind) const {
  const auto found = values_.find(key);
  if (found == values_.end()) return nullptr;
  const T* value = std::get_if<T>(&found->second);
  if (value == nullptr) fail_model(file_, key, {kGgufMetadata, std::string("is not ") + kind});
  return value;
}

std::optional<bool> GgufMetadata::flag(const std::string& key) const {
  const bool* value = find<bool>(key, "a boolean");
  return value == nullptr ? std::nullopt : std::optional(*value);
}

std::optional<std::int64_t> GgufMetadata::integer(const std::string& key) const {
  const std::int64_t* value = find<std::int64_t>(key, "an integer");
  return value == nullptr ? std::nullopt : std::optional(*value);
}

std::optional<double> GgufMetadata::number(const std::string& key) const {
  const auto found = values_.find(key);
  if (found != values_.end() && std::holds_alternative<std::int64_t>(found->second)) {
    return static_cast<double>(std::get<std::int64_t>(found->second));
  }
  const double* value = find<double>(key, "a number");
  return value == nullptr ? std::nullopt : std::optional(*value);
}

const std::string* GgufMetadata::text(const std::string& key) const {
  return find<std::string>(key, "a text");
}

const std::vector<std::int64_t>* GgufMetadata::integers(const std::string& key) const {
  return find<std::vector<std::int64_t>>(key, "an array of integers");
}

const std::vector<double>* GgufMetadata::numbers(const std::string& key) const {
  return find<std::vector<double>>(key, "an array of numbers");
}

const std::vector<std::string>* GgufMetadata::texts(const std::string& key) const {
  return find<std::vector<std::string>>(key, "an array of texts");
}

}  // namespace servetwin
