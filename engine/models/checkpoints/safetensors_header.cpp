// The JSON header of a safetensors file, event by event: no tree is built, so no depth or duplicate is lost.
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "engine/models/checkpoints/model_error.h"
#include "engine/models/checkpoints/safetensors.h"
#include "engine/models/checkpoints/strict_json.h"

namespace servetwin {
namespace {

constexpr std::uint64_t kLengthBytes = 8;
constexpr std::uint64_t kMaxHeader = 100'000'000;  // as the format's own library
constexpr std::size_t kMaxShape = 16;

struct FormatName {
  std::string_view name;
  DType dtype;
};
constexpr std::array kFormats = {
    FormatName{"F64", DType::kF64},        FormatName{"F32", DType::kF32},
    FormatName{"F16", DType::kF16},        FormatName{"BF16", DType::kBF16},
    FormatName{"F8_E4M3", DType::kF8E4M3}, FormatName{"F8_E5M2", DType::kF8E5M2},
    FormatName{"I64", DType::kI64},        FormatName{"I32", DType::kI32},
    FormatName{"I16", DType::kI16},        FormatName{"I8", DType::kI8},
    FormatName{"U8", DType::kU8},
};

// {"name": {"dtype": "F32", "shape": [4, 4], "data_offsets": [0, 64]}, …, "__metadata__": {"key": "text"}}
class HeaderReader final : public StrictJson {
 public:
  HeaderReader(const std::string& file, std::uint64_t data_begin, std::uint64_t data_size)
      : StrictJson(file), data_begin_(data_begin), data_size_(data_size) {}

  SafetensorsHeader take() { return std::move(header_); }

 private:
  struct Entry {
    std::optional<DType> dtype;
    std::optional<Shape> shape;
    std::optional<std::vector<std::int64_t>> offsets;
  };

  bool in_metadata() const { return path(1) == "__metadata__"; }

  void on_object() override {
    if (depth() == 2) entry_ = {};
    if (depth() > 2) wrong_kind("an object");
  }

  void on_array() override {
    if (depth() == 3 && !in_metadata() && path(2) == "shape") {
      entry_.shape.emplace();
    } else if (depth() == 3 && !in_metadata() && path(2) == "data_offsets") {
      entry_.offsets.emplace();
    } else {
      wrong_kind("an array");
    }
  }

  void on_text(std::string value) override {
    if (depth() == 2 && in_metadata()) {
      header_.metadata.emplace(path(2), std::move(value));
    } else if (depth() == 2 && path(2) == "dtype") {
      entry_.dtype = format(value);
    } else {
      wrong_kind("a text");
    }
  }

  void on_count(std::uint64_t value) override {
    if (depth() != 3 || in_metadata()) wrong_kind("a number");
    if (value > static_cast<std::uint64_t>(INT64_MAX)) {
      fail(kTensorShape, path(2) + " has a value beyond 2^63: " + std::to_string(value));
    }
    std::vector<std::int64_t>& values = path(2) == "shape" ? *entry_.shape : *entry_.offsets;
    if (values.size() == kMaxShape) fail(kModelHeaderField, path(2) + " has more than 16 values");
    values.push_back(static_cast<std::int64_t>(value));
  }

  void on_key() override {
    if (depth() != 2 || in_metadata()) return;
    const std::string& key = path(2);
    const bool is_known = key == "dtype" || key == "shape" || key == "data_offsets";
    if (!is_known) fail(kModelHeaderField, "has an unknown field \"" + printable(key) + '"');
  }

  void on_twice() override {
    if (depth() == 1) fail(kTensorTwice, "stands twice in the header");
    fail(kModelHeaderField, "has the field \"" + printable(path(2)) + "\" twice");
  }

  void on_object_end() override {
    if (depth() != 1 || in_metadata()) return;
    const char* missing = !entry_.dtype     ? "dtype"
                          : !entry_.shape   ? "shape"
                          : !entry_.offsets ? "data_offsets"
                                            : nullptr;
    if (missing != nullptr) fail(kModelHeaderField, std::string("has no ") + missing);
    header_.tensors.push_back(checked_tensor());
  }

  TensorInfo checked_tensor() const {
    const std::vector<std::int64_t>& offsets = *entry_.offsets;
    if (offsets.size() != 2) {
      fail(kModelHeaderField, "data_offsets has " + std::to_string(offsets.size()) + " values, not 2");
    }
    const Parsed<Bytes> bytes = shape_bytes(*entry_.dtype, *entry_.shape);
    if (!bytes) fail(kTensorShape, bytes.message);
    if (offsets[1] < offsets[0]) {
      fail(kTensorOffset, "its data_offsets are reversed: [" + std::to_string(offsets[0]) + ", " +
                              std::to_string(offsets[1]) + ']');
    }
    const std::int64_t span = offsets[1] - offsets[0];
    if (span != bytes.value->value) {
      fail(kTensorSize, "its shape " + to_string(*entry_.shape) + " of " + name_of(*entry_.dtype) +
                            " takes " + std::to_string(bytes.value->value) +
                            " bytes, its data_offsets span " + std::to_string(span));
    }
    if (static_cast<std::uint64_t>(offsets[1]) > data_size_) {
      fail(kModelDataMissing, "ends at data offset " + std::to_string(offsets[1]) + ", but the file has " +
                                  std::to_string(data_size_) + " bytes of data");
    }
    const auto begin = data_begin_ + static_cast<std::uint64_t>(offsets[0]);
    return {path(1), *entry_.dtype, *entry_.shape, 0, begin, static_cast<std::uint64_t>(span)};
  }

  DType format(const std::string& name) const {
    for (const FormatName& known : kFormats) {
      if (known.name == name) return known.dtype;
    }
    fail(kTensorFormat, "its dtype \"" + printable(name) + "\" is not supported",
         "convert the tensor to one of F64 F32 F16 BF16 F8_E4M3 F8_E5M2 I64 I32 I16 I8 U8");
  }

  std::uint64_t data_begin_;
  std::uint64_t data_size_;
  Entry entry_;
  SafetensorsHeader header_;
};

std::uint64_t header_length(ByteSpan bytes, const std::string& file) {
  const std::string size = std::to_string(bytes.size());
  if (bytes.size() < kLengthBytes) {
    fail_model(file, "",
               {kModelFileShort, "is too short: " + size + " bytes, and a header's length alone takes 8"});
  }
  std::uint64_t length = 0;
  for (std::size_t i = kLengthBytes; i-- > 0;)
    length = (length << 8U) | std::to_integer<std::uint64_t>(bytes[i]);
  const std::string declares = "declares a header of " + std::to_string(length) + " bytes";
  if (length > kMaxHeader) {
    fail_model(file, "",
               {kModelHeaderLength, declares + ", above the limit of 100,000,000, in a file of " + size,
                "check that it is a safetensors file"});
  }
  if (length > bytes.size() - kLengthBytes) {
    fail_model(file, "", {kModelHeaderLength, declares + " in a file of " + size});
  }
  return length;
}

}  // namespace

SafetensorsHeader read_safetensors_header(ByteSpan bytes, const std::string& file) {
  const std::uint64_t length = header_length(bytes, file);
  const std::uint64_t data_begin = kLengthBytes + length;
  // A copy: what was validated is what is used, whatever happens to the file.
  const std::string text(reinterpret_cast<const char*>(bytes.data()) + kLengthBytes, length);
  if (text.empty() || text.front() != '{') {
    fail_model(file, "",
               {kModelHeaderText, "its header does not begin with {", "check that it is a safetensors file"});
  }
  HeaderReader reader(file, data_begin, bytes.size() - data_begin);
  reader.parse(text);
  SafetensorsHeader header = reader.take();
  check_layout(file, header.tensors, data_begin, 1);
  const std::uint64_t end =
      header.tensors.empty() ? data_begin : header.tensors.back().begin + header.tensors.back().size;
  if (end != bytes.size()) {
    fail_model(
        file, "",
        {kModelExtraBytes, "its tensors take " + std::to_string(end - data_begin) + " bytes, but it has " +
                               std::to_string(bytes.size() - data_begin) + " bytes of data"});
  }
  return header;
}

}  // namespace servetwin
