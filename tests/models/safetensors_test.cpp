// If these fail, a damaged or hostile safetensors file is taken, or a good one is read wrongly.
#include "engine/models/checkpoints/safetensors.h"

#include <filesystem>
#include <string>

#include "engine/models/checkpoints/model_error.h"
#include "tests/models/model_bytes.h"
#include "tests/support/catch.h"

namespace servetwin::safetensors_test {
namespace {

const std::string kData16(16, '\1');

// One tensor of four f32, with `fields` in place of its fields.
std::string one(const std::string& fields, const std::string& data = kData16) {
  return safetensors_bytes("{\"w\": {" + fields + "}}", data);
}

Problem problem(const std::string& bytes) {
  return problem_of_reading([&] { read_safetensors_header(span_of(bytes), "m.safetensors"); });
}

std::string code(const std::string& bytes) { return problem(bytes).code; }

// {"a": …, "b": …} of f32 with these offsets.
std::string two(const std::string& first, const std::string& second, std::size_t bytes) {
  const std::string begin = R"({"a": {"dtype": "F32", "shape": [2], "data_offsets": )" + first;
  const std::string end = R"(}, "b": {"dtype": "F32", "shape": [2], "data_offsets": )" + second + "}}";
  return safetensors_bytes(begin + end, std::string(bytes, '\0'));
}

TEST_CASE("a good file gives names, shapes, bytes and metadata") {
  const std::string bytes = safetensors_bytes(
      R"({"__metadata__": {"format": "pt"}, "b": {"dtype": "F32", "shape": [2, 1], "data_offsets": [2, 10]},
          "a": {"dtype": "BF16", "shape": [], "data_offsets": [0, 2]},
          "none": {"dtype": "I64", "shape": [0, 3], "data_offsets": [2, 2]}}   )",
      std::string(10, '\0'));
  const SafetensorsHeader header = read_safetensors_header(span_of(bytes), "m");
  REQUIRE(header.tensors.size() == 3);
  CHECK(header.metadata.at("format") == "pt");
  CHECK(header.tensors[0].name == "a");
  CHECK(header.tensors[0].shape.empty());
  CHECK(header.tensors[1].name == "none");
  CHECK(header.tensors[2].dtype == DType::kF32);
  CHECK(header.tensors[2].shape == Shape{2, 1});
  CHECK(header.tensors[2].begin + header.tensors[2].size == bytes.size());
}

TEST_CASE("an empty table is a file without tensors") {
  CHECK(read_safetensors_header(span_of(safetensors_bytes("{}")), "m").tensors.empty());
}

TEST_CASE("a header's length beyond the limit or the file is refused with both numbers") {
  const Problem limit = problem(raw<std::uint64_t>(100'000'001) + "{}");
  CHECK(limit.code == std::string(kModelHeaderLength));
  CHECK(mentions(limit, "100000001"));
  CHECK(mentions(limit, "100,000,000"));
  const Problem file = problem(raw<std::uint64_t>(3) + "{}");
  CHECK(file.code == std::string(kModelHeaderLength));
  CHECK(mentions(file, "header of 3 bytes in a file of 10"));
  CHECK(code(raw<std::uint64_t>(~0ULL) + "{}") == kModelHeaderLength);
  CHECK(code("1234567") == kModelFileShort);
}

TEST_CASE("a header that is no JSON object in UTF-8, or is nested deeply, is refused") {
  CHECK(code(safetensors_bytes("")) == kModelHeaderText);
  CHECK(code(safetensors_bytes(" {}")) == kModelHeaderText);
  CHECK(code(safetensors_bytes("[]")) == kModelHeaderText);
  CHECK(code(safetensors_bytes("{\"w\": ")) == kModelHeaderText);
  CHECK(code(safetensors_bytes("{} {}")) == kModelHeaderText);
  CHECK(code(safetensors_bytes("{\"\xFF\xFE\": {}}")) == kModelHeaderText);
  CHECK(code(safetensors_bytes("{\"\\ud800\": {}}")) == kModelHeaderText);
  CHECK(code(one(R"("dtype": "F32", "shape": [NaN], "data_offsets": [0, 16])")) == kModelHeaderText);
  CHECK(code(safetensors_bytes("{\"w\": " + std::string(1'000'000, '['))) == kModelHeaderField);
  std::string deep = "{";
  for (int i = 0; i < 100'000; ++i) deep += "\"a\":{";
  CHECK(code(safetensors_bytes(deep)) == kModelHeaderField);
}

TEST_CASE("a field that is missing, unknown, doubled or of the wrong kind is refused") {
  const std::string shape = R"("shape": [4])";
  const std::string dtype = R"("dtype": "F32")";
  const std::string offsets = R"("data_offsets": [0, 16])";
  const std::string all = dtype + "," + shape + "," + offsets;
  CHECK(read_safetensors_header(span_of(one(all)), "m").tensors.size() == 1);
  CHECK(mentions(problem(one(shape + "," + offsets)), "has no dtype"));
  CHECK(mentions(problem(one(dtype + "," + offsets)), "has no shape"));
  CHECK(mentions(problem(one(dtype + "," + shape)), "has no data_offsets"));
  CHECK(mentions(problem(one(all + R"(, "strides": [1])")), "strides"));
  CHECK(mentions(problem(one(all + ", " + dtype)), "twice"));
  for (const char* fields :
       {R"("dtype": 3)", R"("dtype": null)", R"("shape": "4")", R"("shape": [4.5])", R"("shape": [-4])",
        R"("shape": [[4]])", R"("shape": [true])", R"("shape": [99999999999999999999])",
        R"("data_offsets": {})", R"("dtype": "F32", "shape": [4], "data_offsets": [0])",
        R"("dtype": "F32", "shape": [4], "data_offsets": [0, 16, 16])",
        R"("shape": [1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1])"}) {
    CAPTURE(fields);
    CHECK(code(one(fields)) == kModelHeaderField);
  }
  CHECK(code(safetensors_bytes(R"({"w": 3})")) == kModelHeaderField);
  CHECK(code(safetensors_bytes(R"({"__metadata__": {"format": 1}})")) == kModelHeaderField);
  CHECK(code(safetensors_bytes(R"({"__metadata__": {"format": {}}})")) == kModelHeaderField);
}

TEST_CASE("each way in which shapes and offsets can be wrong has its own code and names the tensor") {
  CHECK(code(two("[0, 8]", "[4, 12]", 12)) == kTensorOverlap);
  CHECK(code(two("[0, 8]", "[0, 8]", 8)) == kTensorOverlap);
  CHECK(code(two("[0, 8]", "[12, 20]", 20)) == kTensorGap);
  CHECK(code(two("[4, 12]", "[12, 20]", 20)) == kTensorGap);
  CHECK(code(two("[0, 8]", "[16, 8]", 16)) == kTensorOffset);
  CHECK(code(two("[0, 8]", "[8, 12]", 12)) == kTensorSize);
  CHECK(code(two("[0, 8]", "[8, 16]", 12)) == kModelDataMissing);
  CHECK(code(two("[0, 8]", "[8, 16]", 17)) == kModelExtraBytes);
  CHECK(problem(two("[0, 8]", "[4, 12]", 12)).path == "b");
  const std::string wide =
      R"("dtype": "F32", "shape": [4294967296, 4294967296, 4294967296], "data_offsets": [0, 0])";
  CHECK(code(one(wide)) == kTensorShape);
  CHECK(code(one(R"("dtype": "F32", "shape": [9223372036854775808], "data_offsets": [0, 0])")) ==
        kTensorShape);
  CHECK(code(one(R"("dtype": "F32", "shape": [4611686018427387904], "data_offsets": [0, 0])")) ==
        kTensorShape);
}

TEST_CASE("a tensor that stands twice is refused") {
  const std::string tensor = R"("w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]})";
  CHECK(code(safetensors_bytes("{" + tensor + "," + tensor + "}", std::string(8, '\0'))) == kTensorTwice);
}

TEST_CASE("number formats that are unknown or smaller than a byte are refused by name") {
  for (const char* name : {"F4", "F6_E2M3", "BOOL", "U32", "f32", ""}) {
    const Problem found =
        problem(one(std::string(R"("dtype": ")") + name + R"(", "shape": [4], "data_offsets": [0, 16])"));
    CHECK(found.code == std::string(kTensorFormat));
    CHECK(mentions(found, std::string("\"") + name + "\""));
  }
}

TEST_CASE("names from the file are harmless in messages") {
  const Problem found = problem(safetensors_bytes("{\"\\u001b[2J\": 3}"));
  CHECK(found.path == "\\x1b[2J");
  CHECK(printable(std::string(500, 'a')) == std::string(100, 'a') + "...");
}

TEST_CASE("the small cases of public reports are refused or read as they should be") {
  const std::filesystem::path folder = std::filesystem::path(SERVETWIN_DATA_DIR) / "../cases/files/model";
  if (!std::filesystem::is_directory(folder)) {
    WARN("skipped: no cases beside " SERVETWIN_DATA_DIR);
    return;
  }
  const auto refused = [&](const char* name) {
    return problem_of_reading([&] { open_safetensors((folder / name).string()); });
  };
  const Problem header = refused("F1a_header_132095296.safetensors");
  CHECK(header.code == std::string(kModelHeaderLength));
  CHECK(mentions(header, "132095296"));
  CHECK(mentions(header, "100,000,000"));
  const Problem truncated = refused("F1b_truncated_data.safetensors");
  CHECK(truncated.code == std::string(kModelDataMissing));
  CHECK(mentions(truncated, "64"));
  CHECK(mentions(truncated, "40 bytes"));
  const Problem extra = refused("F1c_extra_bytes.safetensors");
  CHECK(extra.code == std::string(kModelExtraBytes));
  CHECK(mentions(extra, "64 bytes"));
  CHECK(mentions(extra, "72 bytes"));
  CHECK(refused("F1e_seven_bytes.safetensors").code == std::string(kModelFileShort));
  const Checkpoint good = open_safetensors((folder / "F1d_ok.safetensors").string());
  REQUIRE(good.tensors().size() == 1);
  const ByteSpan bytes = good.view(good.tensors().front()).bytes;
  CHECK(std::string(reinterpret_cast<const char*>(bytes.data()) + 4, 4) == raw(1.0F));
}

}  // namespace
}  // namespace servetwin::safetensors_test
