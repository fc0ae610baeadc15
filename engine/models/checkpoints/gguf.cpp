// The table of tensors of a GGUF file: every offset and size is held against the file before it is kept.
#include "engine/models/checkpoints/gguf.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "engine/models/checkpoints/gguf_cursor.h"
#include "engine/models/checkpoints/model_error.h"

namespace servetwin {
namespace {

constexpr std::uint32_t kMagic = 0x46554747;  // "GGUF"
constexpr std::uint64_t kMaxTensors = 1U << 20U;
constexpr std::uint64_t kMaxPairs = 1U << 16U;
constexpr std::uint64_t kLeastPair = 8 + 1 + 4 + 1;            // key, type, value
constexpr std::uint64_t kLeastTensor = 8 + 1 + 4 + 8 + 4 + 8;  // name, dimensions, type, offset
constexpr std::uint64_t kMaxName = 64;                         // of the format
constexpr std::uint32_t kMaxDimensions = 4;
constexpr std::uint64_t kDefaultAlignment = 32;
constexpr std::uint64_t kMaxPadding = 1U << 20U;  // zeros after the last tensor

// Numbers of ggml's types; those without a format here are refused by name.
struct GgmlType {
  std::uint32_t number;
  const char* name;
  std::optional<DType> dtype;
};
const std::array kTypes = {
    GgmlType{0, "F32", DType::kF32},       GgmlType{1, "F16", DType::kF16},
    GgmlType{2, "Q4_0", DType::kQ4_0},     GgmlType{3, "Q4_1", DType::kQ4_1},
    GgmlType{6, "Q5_0", DType::kQ5_0},     GgmlType{7, "Q5_1", DType::kQ5_1},
    GgmlType{8, "Q8_0", DType::kQ8_0},     GgmlType{9, "Q8_1", std::nullopt},
    GgmlType{10, "Q2_K", DType::kQ2_K},    GgmlType{11, "Q3_K", DType::kQ3_K},
    GgmlType{12, "Q4_K", DType::kQ4_K},    GgmlType{13, "Q5_K", DType::kQ5_K},
    GgmlType{14, "Q6_K", DType::kQ6_K},    GgmlType{15, "Q8_K", std::nullopt},
    GgmlType{16, "IQ2_XXS", std::nullopt}, GgmlType{17, "IQ2_XS", std::nullopt},
    GgmlType{18, "IQ3_XXS", std::nullopt}, GgmlType{19, "IQ1_S", std::nullopt},
    GgmlType{20, "IQ4_NL", std::nullopt},  GgmlType{21, "IQ3_S", std::nullopt},
    GgmlType{22, "IQ2_S", std::nullopt},   GgmlType{23, "IQ4_XS", std::nullopt},
    GgmlType{24, "I8", DType::kI8},        GgmlType{25, "I16", DType::kI16},
    GgmlType{26, "I32", DType::kI32},      GgmlType{27, "I64", DType::kI64},
    GgmlType{28, "F64", DType::kF64},      GgmlType{29, "IQ1_M", std::nullopt},
    GgmlType{30, "BF16", DType::kBF16},    GgmlType{34, "TQ1_0", std::nullopt},
    GgmlType{35, "TQ2_0", std::nullopt},   GgmlType{39, "MXFP4", DType::kMxfp4},
};

struct Header {
  std::uint64_t tensors = 0;
  std::uint64_t pairs = 0;
};

Header read_header(GgufCursor& cursor, const std::string& file) {
  if (cursor.take<std::uint32_t>("the magic bytes") != kMagic) {
    fail_model(file, "",
               {kGgufVersion, "does not begin with the letters GGUF", "check that it is a GGUF file"});
  }
  const auto version = cursor.take<std::uint32_t>("the version");
  if ((version & 0xFFFFU) == 0) {
    fail_model(file, "",
               {kGgufVersion, "is big-endian GGUF", "convert the model for little-endian machines"});
  }
  if (version != 2 && version != 3) {
    fail_model(file, "",
               {kGgufVersion, "is GGUF version " + std::to_string(version) + "; 2 and 3 are read",
                "convert the model again with a current converter"});
  }
  Header header;
  header.tensors = cursor.take<std::uint64_t>("the number of tensors");
  header.pairs = cursor.take_count(kLeastPair, kMaxPairs, "the number of metadata pairs");
  return header;
}

std::uint64_t alignment_of(const GgufMetadata& metadata) {
  const auto stated = metadata.integer("general.alignment");
  if (!stated) return kDefaultAlignment;
  const bool is_power = *stated > 0 && std::has_single_bit(static_cast<std::uint64_t>(*stated));
  if (!is_power || *stated > (1 << 20)) {
    fail_model(metadata.file(), "general.alignment",
               {kGgufAlignment, "is " + std::to_string(*stated) + ", no power of two up to 1,048,576",
                "write the file with alignment 32"});
  }
  return static_cast<std::uint64_t>(*stated);
}

DType take_dtype(GgufCursor& cursor, const std::string& file, const std::string& tensor) {
  const auto number = cursor.take<std::uint32_t>("a tensor's type");
  const auto known =
      std::find_if(kTypes.begin(), kTypes.end(), [&](const GgmlType& type) { return type.number == number; });
  if (known != kTypes.end() && known->dtype) return *known->dtype;
  const std::string name = known == kTypes.end() ? "" : std::string(" (") + known->name + ')';
  fail_model(file, tensor,
             {kTensorFormat, "its type " + std::to_string(number) + name + " is not supported",
              "use a file in F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q4_K, Q5_K or Q6_K"});
}

Shape take_shape(GgufCursor& cursor, const std::string& file, const std::string& tensor) {
  const auto dimensions = cursor.take<std::uint32_t>("a tensor's number of dimensions");
  if (dimensions == 0 || dimensions > kMaxDimensions) {
    fail_model(file, tensor,
               {kTensorShape, "has " + std::to_string(dimensions) + " dimensions; 1 to 4 are possible"});
  }
  Shape shape;
  for (std::uint32_t i = 0; i < dimensions; ++i) {
    const auto size = cursor.take<std::uint64_t>("a tensor's dimensions");
    const bool is_possible = size > 0 && size <= static_cast<std::uint64_t>(INT64_MAX);
    if (!is_possible) fail_model(file, tensor, {kTensorShape, "has a dimension of " + std::to_string(size)});
    shape.push_back(static_cast<std::int64_t>(size));
  }
  std::reverse(shape.begin(), shape.end());
  return shape;
}

// `begin` is the offset as written, from the start of the data.
TensorInfo take_tensor(GgufCursor& cursor, const std::string& file) {
  TensorInfo tensor;
  tensor.name = cursor.take_text(kMaxName, "a tensor's name");
  if (tensor.name.empty()) fail_model(file, "", {kGgufMetadata, "has a tensor without a name"});
  tensor.shape = take_shape(cursor, file, tensor.name);
  tensor.dtype = take_dtype(cursor, file, tensor.name);
  tensor.begin = cursor.take<std::uint64_t>("a tensor's offset");
  const Parsed<Bytes> bytes = shape_bytes(tensor.dtype, tensor.shape);
  if (!bytes) fail_model(file, tensor.name, {kTensorShape, bytes.message});
  tensor.size = static_cast<std::uint64_t>(bytes.value->value);
  return tensor;
}

// Turns the offset into a place in the file, or throws.
void place_tensor(TensorInfo& tensor,
                  const std::string& file,
                  std::uint64_t data,
                  std::uint64_t alignment,
                  std::uint64_t file_size) {
  const std::string offset = std::to_string(tensor.begin);
  const std::string size = std::to_string(file_size);
  if (tensor.begin % alignment != 0) {
    fail_model(file, tensor.name,
               {kGgufAlignment, "its data offset " + offset + " is no multiple of the alignment " +
                                    std::to_string(alignment)});
  }
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  const bool overflows =
      __builtin_add_overflow(data, tensor.begin, &begin) || __builtin_add_overflow(begin, tensor.size, &end);
  const std::string message = "its data offset " + offset + " with " + std::to_string(tensor.size) +
                              " bytes does not fit into the file: data begin at " + std::to_string(data) +
                              ", the file has " + size + " bytes";
  const bool lies_outside = overflows || (begin >= file_size && tensor.begin > 0);
  if (lies_outside) fail_model(file, tensor.name, {kTensorOffset, message});
  if (end > file_size) fail_model(file, tensor.name, {kModelDataMissing, message});
  tensor.begin = begin;
}

// What follows the last tensor is padding, or no part of this file.
void check_tail(ByteSpan bytes, std::uint64_t end, const std::string& file) {
  if (end >= bytes.size()) return;
  const ByteSpan tail = bytes.subspan(end);
  const bool is_short = tail.size() <= kMaxPadding;
  const bool is_padding =
      is_short && std::all_of(tail.begin(), tail.end(), [](std::byte byte) { return byte == std::byte{0}; });
  if (is_padding) return;
  fail_model(file, "",
             {kModelExtraBytes, "its last tensor ends at " + std::to_string(end) + ", but it has " +
                                    std::to_string(bytes.size()) + " bytes, and more than zeros follow"});
}

}  // namespace

ByteSpan GgufCursor::take_bytes(std::uint64_t count, const char* what) {
  if (count > left()) {
    fail_model(file_, "",
               {kModelFileShort, std::string("ends within ") + what + ": " + std::to_string(count) +
                                     " bytes are due at " + std::to_string(at_) + ", " +
                                     std::to_string(left()) + " are left"});
  }
  const ByteSpan taken = bytes_.subspan(at_, count);
  at_ += count;
  return taken;
}

std::string GgufCursor::take_text(std::uint64_t limit, const char* what) {
  const auto length = take<std::uint64_t>(what);
  if (length > limit) {
    fail_model(file_, "",
               {kGgufMetadata, std::string(what) + " has a length of " + std::to_string(length) +
                                   "; at most " + std::to_string(limit)});
  }
  const ByteSpan taken = take_bytes(length, what);
  return {reinterpret_cast<const char*>(taken.data()), taken.size()};
}

std::uint64_t GgufCursor::take_count(std::uint64_t least, std::uint64_t limit, const char* what) {
  const auto count = take<std::uint64_t>(what);
  if (count > limit) {
    fail_model(file_, "",
               {kGgufMetadata,
                std::string(what) + " is " + std::to_string(count) + "; at most " + std::to_string(limit)});
  }
  if (count > left() / least) {
    fail_model(file_, "",
               {kModelFileShort, std::string(what) + " is " + std::to_string(count) +
                                     ", which do not fit into the " + std::to_string(left()) +
                                     " bytes that are left"});
  }
  return count;
}

GgufTable read_gguf_table(ByteSpan bytes, const std::string& file) {
  GgufCursor cursor(bytes, file);
  const Header header = read_header(cursor, file);
  GgufTable table{GgufMetadata(file), {}};
  read_gguf_metadata(cursor, header.pairs, table.metadata);
  const std::uint64_t alignment = alignment_of(table.metadata);
  if (header.tensors > kMaxTensors || header.tensors > cursor.left() / kLeastTensor) {
    fail_model(file, "",
               {kModelFileShort, "declares " + std::to_string(header.tensors) +
                                     " tensors, whose table does not fit into the " +
                                     std::to_string(cursor.left()) + " bytes that are left"});
  }
  for (std::uint64_t i = 0; i < header.tensors; ++i) table.tensors.push_back(take_tensor(cursor, file));
  const std::uint64_t data = (cursor.position() + alignment - 1) / alignment * alignment;
  for (TensorInfo& tensor : table.tensors) place_tensor(tensor, file, data, alignment, bytes.size());
  check_layout(file, table.tensors, data, alignment);
  const std::uint64_t end =
      table.tensors.empty() ? cursor.position() : table.tensors.back().begin + table.tensors.back().size;
  check_tail(bytes, end, file);
  return table;
}

GgufFile open_gguf(const std::string& file) {
  std::vector<ModelFile> files;
  files.emplace_back(file);
  GgufTable table = read_gguf_table(files.front().bytes(), file);
  files.front().check_unchanged();
  return {std::move(table.metadata), Checkpoint(std::move(files), std::move(table.tensors))};
}

}  // namespace servetwin
