// If these fail, an index can lead out of its folder, or shards are mixed up.
#include <filesystem>
#include <string>

#include "engine/models/checkpoints/model_error.h"
#include "engine/models/checkpoints/safetensors.h"
#include "tests/models/model_bytes.h"
#include "tests/support/catch.h"

namespace servetwin::shards_test {
namespace {

// A shard with one f32 vector of two elements.
std::string shard(const std::string& tensor, float first) {
  return safetensors_bytes("{\"" + tensor + R"(": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}})",
                           raw_floats({first, first + 1}));
}

std::string index(const std::string& map) {
  return R"({"metadata": {"total_size": 16, "note": ["x", {"y": "z"}]}, "weight_map": {)" + map + "}}";
}

const std::string kBoth = R"("a": "one.safetensors", "b": "two.safetensors")";

// The code with which a folder of both shards and this index is refused.
std::string code(const std::string& map, const std::string& second = shard("b", 3)) {
  const ModelFolder folder("index");
  folder.write("model.safetensors.index.json", index(map));
  folder.write("one.safetensors", shard("a", 1));
  folder.write("two.safetensors", second);
  return problem_of_reading([&] { open_safetensors_folder(folder.path()); }).code;
}

TEST_CASE("tensors of all shards are found by name") {
  const ModelFolder folder("shards");
  folder.write("model.safetensors.index.json", index(kBoth));
  folder.write("one.safetensors", shard("a", 1));
  folder.write("two.safetensors", shard("b", 3));
  const Checkpoint checkpoint = open_safetensors_folder(folder.path());
  REQUIRE(checkpoint.tensors().size() == 2);
  const TensorInfo* b = checkpoint.find("b");
  REQUIRE(b != nullptr);
  CHECK(checkpoint.file_of(*b).find("two.safetensors") != std::string::npos);
  CHECK(checkpoint.read(*b) == [] {
    const std::string bytes = raw_floats({3, 4});
    const ByteSpan span = span_of(bytes);
    return std::vector<std::byte>(span.begin(), span.end());
  }());
  CHECK(checkpoint.find("c") == nullptr);
}

TEST_CASE("model.safetensors alone is read, and goes before an index") {
  const ModelFolder folder("single");
  folder.write("model.safetensors.index.json", "no JSON at all");
  folder.write("model.safetensors", shard("a", 1));
  CHECK(open_safetensors_folder(folder.path()).tensors().size() == 1);
}

TEST_CASE("a folder without weights is refused") {
  const ModelFolder folder("empty");
  CHECK(problem_of_reading([&] { open_safetensors_folder(folder.path()); }).code ==
        std::string(kModelFileMissing));
}

TEST_CASE("shard names that are paths are refused before any file is opened") {
  for (const char* name : {"../one.safetensors", "/etc/one.safetensors", "sub/one.safetensors", "..", "",
                           "one.bin", ".one.safetensors", "a\\\\one.safetensors", "one\\u0000.safetensors"}) {
    CAPTURE(name);
    CHECK(code(R"("a": ")" + std::string(name) + '"') == kShardIndex);
  }
}

TEST_CASE("an index that does not fit its shards is refused") {
  CHECK(code(R"("a": "one.safetensors", "b": "three.safetensors")") == kShardIndex);
  CHECK(code(R"("a": "one.safetensors", "b": "two.safetensors", "c": "two.safetensors")") == kTensorAbsent);
  CHECK(code(kBoth, shard("c", 3)) == kShardIndex);
  CHECK(code(kBoth, shard("a", 3)) == kTensorTwice);
  CHECK(code(R"("a": "one.safetensors", "a": "two.safetensors")") == kTensorTwice);
  CHECK(code("") == kShardIndex);
  CHECK(code(R"("a": 3)") == kModelHeaderField);
  CHECK(code(R"("a": ["one.safetensors"])") == kModelHeaderField);
}

TEST_CASE("a damaged shard is refused with its own name") {
  const ModelFolder folder("damaged");
  folder.write("model.safetensors.index.json", index(kBoth));
  folder.write("one.safetensors", shard("a", 1));
  folder.write("two.safetensors", shard("b", 3).substr(0, 70));
  const Problem problem = problem_of_reading([&] { open_safetensors_folder(folder.path()); });
  CHECK(problem.place.file.find("two.safetensors") != std::string::npos);
}

TEST_CASE("links lead to files of the folder or of the hub's cache, and nowhere else") {
  namespace fs = std::filesystem;
  const ModelFolder root("links");
  const fs::path snapshot = fs::path(root.path()) / "snapshots/1";
  fs::create_directories(snapshot);
  fs::create_directories(fs::path(root.path()) / "blobs");
  const std::string blob = root.write("blobs/abc", shard("a", 1));
  root.write("snapshots/1/model.safetensors.index.json", index(R"("a": "one.safetensors")"));
  fs::create_symlink(blob, snapshot / "one.safetensors");
  CHECK(open_safetensors_folder(snapshot.string()).tensors().size() == 1);
  const std::string outside = root.write("outside", shard("a", 1));
  fs::remove(snapshot / "one.safetensors");
  fs::create_symlink(outside, snapshot / "one.safetensors");
  CHECK(problem_of_reading([&] { open_safetensors_folder(snapshot.string()); }).code ==
        std::string(kShardIndex));
}

TEST_CASE("what is no regular file, or empty, is refused without waiting") {
  const ModelFolder folder("kinds");
  for (const std::string& path :
       {folder.path(), folder.write("empty", ""), std::string("/dev/null"), folder.path() + "/nothing"}) {
    CHECK(problem_of_reading([&] { open_safetensors(path); }).code == std::string(kModelFileMissing));
  }
}

TEST_CASE("a file that is cut or rewritten while it is open is an error, not a crash") {
  const ModelFolder folder("cut");
  const std::string path = folder.write("m.safetensors", shard("a", 1));
  const Checkpoint checkpoint = open_safetensors(path);
  checkpoint.check_unchanged();
  std::filesystem::resize_file(path, 20);
  CHECK(problem_of_reading([&] { checkpoint.read(*checkpoint.find("a")); }).code ==
        std::string(kModelFileChanged));
  CHECK(problem_of_reading([&] { checkpoint.check_unchanged(); }).code == std::string(kModelFileChanged));
}

}  // namespace
}  // namespace servetwin::shards_test
