// If these fail, a damaged or hostile GGUF file is taken, or a good one is read wrongly.
#include "engine/models/checkpoints/gguf.h"

#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "engine/models/checkpoints/model_error.h"
#include "tests/models/model_bytes.h"
#include "tests/support/catch.h"

namespace servetwin::gguf_test {
namespace {

const std::string kData16 = raw_floats({1, 2, 3, 4});

Problem problem(const std::string& bytes) {
  return problem_of_reading([&] { read_gguf_table(span_of(bytes), "m.gguf"); });
}

std::string code(const std::string& bytes) { return problem(bytes).code; }

// The code for a file with this one pair.
std::string pair_code(std::uint32_t type, const std::string& value, const std::string& key = "a.key") {
  return code(GgufBuilder().pair(key, type, value).bytes());
}

// The code for a file with this one tensor, its data 16 bytes.
std::string tensor_code(const std::vector<std::uint64_t>& shape, std::uint32_t type) {
  return code(GgufBuilder().tensor("w", shape, type, kData16).bytes());
}

std::string array(std::uint32_t type, std::uint64_t count, const std::string& values) {
  return raw(type) + raw(count) + values;
}

std::string from_hex(const std::string& text) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(text.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

std::string bytes_of(const std::string& file, const TensorInfo& tensor) {
  return file.substr(tensor.begin, tensor.size);
}

TEST_CASE("a file that llama.cpp's own package wrote is read as it was meant") {
  std::ifstream in(std::string(SERVETWIN_SOURCE_DIR) + "/tests/oracles/gguf_blocks.json");
  const nlohmann::json small = nlohmann::json::parse(in).at("small");
  const std::string file = from_hex(small.at("file"));
  const GgufTable table = read_gguf_table(span_of(file), "small");
  const GgufMetadata& m = table.metadata;
  CHECK(*m.text("general.architecture") == "llama");
  CHECK(m.integer("a.uint8") == 200);
  CHECK(m.integer("a.int8") == -100);
  CHECK(m.integer("a.uint16") == 60000);
  CHECK(m.integer("a.int16") == -30000);
  CHECK(m.integer("a.uint32") == 4'000'000'000);
  CHECK(m.integer("a.int32") == -2'000'000'000);
  CHECK(m.integer("a.uint64") == std::int64_t{1} << 62);
  CHECK(m.integer("a.int64") == -(std::int64_t{1} << 62));
  CHECK(m.number("a.float32") == 0.5);
  CHECK(m.number("a.float64") == 0.1);
  CHECK(m.flag("a.bool") == true);
  CHECK(*m.text("a.string") == "h\xC3\xA9llo");
  CHECK(*m.texts("a.texts") == std::vector<std::string>{"one", "", "three"});
  CHECK(*m.integers("a.integers") == std::vector<std::int64_t>{1, -2, 3});
  CHECK(*m.numbers("a.numbers") == std::vector<double>{0.5, 0.25});
  CHECK(*m.integers("a.flags") == std::vector<std::int64_t>{1, 0});
  REQUIRE(table.tensors.size() == 2);
  CHECK(table.tensors[0].shape == Shape{2, 3});
  CHECK(bytes_of(file, table.tensors[0]) == from_hex(small.at("plain")));
  CHECK(table.tensors[1].dtype == DType::kQ8_0);
  CHECK(table.tensors[1].shape == Shape{2, 32});
  CHECK(bytes_of(file, table.tensors[1]) == from_hex(small.at("packed")));
}

TEST_CASE("a value of another kind than asked for is refused with its key") {
  const GgufTable table =
      read_gguf_table(span_of(GgufBuilder().text("a.text", "x").count("a.count", 3).bytes()), "m.gguf");
  CHECK(problem_of_reading([&] { table.metadata.integer("a.text"); }).path == "a.text");
  CHECK(problem_of_reading([&] { table.metadata.text("a.count"); }).code == std::string(kGgufMetadata));
  CHECK(table.metadata.number("a.count") == 3.0);
  CHECK_FALSE(table.metadata.integer("a.none"));
  CHECK(table.metadata.texts("a.none") == nullptr);
}

TEST_CASE("what is no GGUF of version 2 or 3 is refused by name") {
  GgufBuilder builder;
  for (const std::uint32_t version : {0U, 1U, 4U, 0x03000000U}) {
    builder.version = version;
    CHECK(code(builder.bytes()) == kGgufVersion);
  }
  CHECK(mentions(problem(builder.bytes()), "big-endian"));
  builder.version = 2;
  CHECK(read_gguf_table(span_of(builder.bytes()), "m").tensors.empty());
  CHECK(code("GGML" + builder.bytes().substr(4)) == kGgufVersion);
}

TEST_CASE("a file that is cut anywhere within its header is too short") {
  const std::string whole = GgufBuilder()
                                .text("general.architecture", "llama")
                                .pair("a.list", 9, array(8, 2, gguf_text("x") + gguf_text("yz")))
                                .tensor("w", {4}, 0, kData16)
                                .bytes();
  const std::size_t header = whole.size() - 64;  // padding and data
  for (std::size_t length = 1; length < header; ++length) {
    CAPTURE(length);
    const std::string found = code(whole.substr(0, length));
    if (found != kModelFileShort && found != kModelDataMissing) FAIL(found);
  }
  CHECK(code(whole.substr(0, 10)) == kModelFileShort);
  CHECK(code(whole.substr(0, whole.size() - 20)) == kModelDataMissing);
}

TEST_CASE("numbers of things that the file cannot hold are refused before memory is asked for") {
  const std::string huge = raw<std::uint64_t>(1ULL << 62U);
  const std::string start = "GGUF" + raw<std::uint32_t>(3);
  CHECK(code(start + huge + raw<std::uint64_t>(0)) == kModelFileShort);
  CHECK(code(start + raw<std::uint64_t>(0) + huge) == kGgufMetadata);
  CHECK(code(start + raw<std::uint64_t>(0) + raw<std::uint64_t>(60'000)) == kModelFileShort);
  CHECK(code(start + raw<std::uint64_t>(0) + raw<std::uint64_t>(1) + huge + std::string(20, 'x')) ==
        kGgufMetadata);
  CHECK(pair_code(8, huge) == kGgufMetadata);
  CHECK(pair_code(8, raw<std::uint64_t>(1000)) == kModelFileShort);
  CHECK(pair_code(9, array(0, 1ULL << 62U, "x")) == kGgufMetadata);
  CHECK(pair_code(9, array(8, 1000, "x")) == kModelFileShort);
}

TEST_CASE("metadata that is out of order is refused") {
  CHECK(pair_code(13, raw<std::uint64_t>(0)) == kGgufMetadata);
  CHECK(pair_code(7, "\2") == kGgufMetadata);
  CHECK(pair_code(9, array(9, 1, array(4, 1, raw(1U)))) == kGgufMetadata);
  CHECK(pair_code(9, array(13, 1, "1234567890")) == kGgufMetadata);
  CHECK(pair_code(10, raw(~0ULL)) == kGgufMetadata);
  CHECK(pair_code(4, raw(1U), "") == kGgufMetadata);
  CHECK(pair_code(4, raw(1U), "a\nb") == kGgufMetadata);
  CHECK(pair_code(4, raw(1U), "\xC3\xA9") == kGgufMetadata);
  CHECK(code(GgufBuilder().count("a", 1).count("a", 2).bytes()) == kGgufMetadata);
}

TEST_CASE("tensors that cannot be are refused with a code of their own") {
  CHECK(tensor_code({}, 0) == kTensorShape);
  CHECK(tensor_code({1, 1, 1, 1, 4}, 0) == kTensorShape);
  CHECK(tensor_code({0}, 0) == kTensorShape);
  CHECK(tensor_code({1ULL << 63U}, 0) == kTensorShape);
  CHECK(tensor_code({1ULL << 40U, 1ULL << 40U}, 0) == kTensorShape);
  CHECK(tensor_code({1ULL << 62U}, 0) == kTensorShape);
  CHECK(tensor_code({128}, 12) == kTensorShape);  // Q4_K has blocks of 256
  CHECK(tensor_code({4}, 4) == kTensorFormat);    // removed from ggml
  CHECK(tensor_code({4}, 99) == kTensorFormat);
  CHECK(mentions(problem(GgufBuilder().tensor("w", {256}, 16, kData16).bytes()), "IQ2_XXS"));
  CHECK(tensor_code({1000}, 0) == kModelDataMissing);
  CHECK(code(GgufBuilder().tensor(std::string(65, 'n'), {4}, 0, kData16).bytes()) == kGgufMetadata);
  CHECK(code(GgufBuilder().tensor("", {4}, 0, kData16).bytes()) == kGgufMetadata);
}

// Two tensors of 16 bytes; the second at `offset`.
std::string second_at(std::uint64_t offset, std::size_t data = 96) {
  return GgufBuilder()
      .tensor_at("a", {4}, 0, 0)
      .tensor_at("b", {4}, 0, offset)
      .add_data(std::string(data, '\0'))
      .bytes();
}

TEST_CASE("offsets outside the file, off the alignment, inside another tensor or after a hole are refused") {
  CHECK(read_gguf_table(span_of(second_at(32)), "m").tensors.size() == 2);
  CHECK(code(second_at(0)) == kTensorOverlap);
  CHECK(code(second_at(64)) == kTensorGap);
  CHECK(code(second_at(16)) == kGgufAlignment);
  CHECK(code(second_at(4096)) == kTensorOffset);
  CHECK(code(second_at(~0ULL - 63)) == kTensorOffset);
  CHECK(problem(second_at(4096)).path == "b");
  const std::string swapped = GgufBuilder()
                                  .tensor_at("a", {4}, 0, 32)
                                  .tensor_at("b", {4}, 0, 0)
                                  .add_data(std::string(64, '\0'))
                                  .bytes();
  CHECK(read_gguf_table(span_of(swapped), "m").tensors.front().name == "b");
}

TEST_CASE("zeros may follow the last tensor, anything else may not") {
  const std::string file = GgufBuilder().tensor("w", {4}, 0, kData16).bytes();
  CHECK(read_gguf_table(span_of(file + std::string(96, '\0')), "m").tensors.size() == 1);
  CHECK(code(file + "x") == kModelExtraBytes);
  CHECK(code(file + std::string(2U << 20U, '\0')) == kModelExtraBytes);
}

TEST_CASE("an alignment that is no power of two is refused, another power is followed") {
  GgufBuilder builder;
  builder.alignment = 64;
  const std::string good = builder.count("general.alignment", 64)
                               .tensor("a", {4}, 0, kData16)
                               .tensor("b", {4}, 0, kData16)
                               .bytes();
  CHECK(read_gguf_table(span_of(good), "m").tensors.size() == 2);
  for (const std::uint32_t alignment : {0U, 24U, 1U << 31U}) {
    CHECK(code(GgufBuilder().count("general.alignment", alignment).bytes()) == kGgufAlignment);
  }
}

TEST_CASE("a tensor that stands twice in a GGUF file is refused") {
  const ModelFolder folder("gguf_twice");
  const std::string path =
      folder.write("m.gguf", GgufBuilder().tensor("w", {4}, 0, kData16).tensor("w", {4}, 0, kData16).bytes());
  CHECK(problem_of_reading([&] { open_gguf(path); }).code == std::string(kTensorTwice));
}

TEST_CASE("the small GGUF cases of public reports are refused or read as they should be") {
  const std::filesystem::path folder = std::filesystem::path(SERVETWIN_DATA_DIR) / "../cases/files/model";
  if (!std::filesystem::is_directory(folder)) {
    WARN("skipped: no cases beside " SERVETWIN_DATA_DIR);
    return;
  }
  const auto refused = [&](const char* name) {
    return problem_of_reading([&] { open_gguf((folder / name).string()); });
  };
  const Problem past = refused("F4a_offset_past_end.gguf");
  CHECK(past.code == std::string(kTensorOffset));
  CHECK(past.path == "b");
  CHECK(mentions(past, "1048576"));
  CHECK(mentions(past, "224"));
  const Problem wraps = refused("F4b_offset_wraps.gguf");
  CHECK(wraps.code == std::string(kTensorOffset));
  CHECK(wraps.path == "b");
  CHECK(mentions(wraps, "18446744073709551552"));
  CHECK(mentions(wraps, "224"));
  CHECK(refused("F4c_offset_unaligned.gguf").code == std::string(kGgufAlignment));
  const Problem missing = refused("F4d_data_missing.gguf");
  CHECK(missing.code == std::string(kModelDataMissing));
  CHECK(missing.path == "a");
  CHECK(mentions(missing, "135"));
  CHECK(refused("F4e_align_24.gguf").code == std::string(kGgufAlignment));
  for (const char* name : {"F4f_trailing_padding.gguf", "F4g_ok_two_tensors.gguf"}) {
    const GgufFile good = open_gguf((folder / name).string());
    const ByteSpan b = good.checkpoint.view(*good.checkpoint.find("b")).bytes;
    CHECK(std::string(reinterpret_cast<const char*>(b.data()), b.size()) == raw_floats({5, 6, 7, 8}));
  }
}

}  // namespace
}  // namespace servetwin::gguf_test
