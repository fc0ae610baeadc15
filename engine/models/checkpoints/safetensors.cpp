// Opens files and shards, and holds the index to what the shards contain.
#include "engine/models/checkpoints/safetensors.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "engine/models/checkpoints/model_error.h"
#include "engine/models/checkpoints/strict_json.h"

namespace servetwin {
namespace {

namespace fs = std::filesystem;
constexpr const char* kSingle = "model.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";
constexpr std::size_t kMaxIndexBytes = 100'000'000;
constexpr std::size_t kMaxShards = 4096;

// {"metadata": {…}, "weight_map": {"tensor": "shard"}}
class IndexReader final : public StrictJson {
 public:
  explicit IndexReader(const std::string& file) : StrictJson(file) {}
  std::map<std::string, std::string> take() { return std::move(shards_); }

 private:
  bool in_map() const { return depth() == 2 && path(1) == "weight_map"; }

  void on_object() override {
    if (depth() > 2 && path(1) == "weight_map") wrong_kind("an object");
  }
  void on_array() override {
    if (path(1) != "metadata") wrong_kind("an array");
  }
  void on_count(std::uint64_t /*value*/) override {
    if (path(1) != "metadata") wrong_kind("a number");
  }
  void on_text(std::string value) override {
    if (in_map()) {
      shards_.emplace(path(2), std::move(value));
    } else if (path(1) != "metadata") {
      wrong_kind("a text");
    }
  }
  void on_twice() override {
    if (in_map()) fail(kTensorTwice, '"' + printable(path(2)) + "\" stands twice in weight_map");
    fail(kModelHeaderField, "stands twice");
  }

  std::map<std::string, std::string> shards_;
};

bool is_plain_name(const std::string& name) {
  const bool has_separator = name.find_first_of(std::string("/\\\0", 3)) != std::string::npos;
  return !has_separator && !name.empty() && name.front() != '.' && name.ends_with(".safetensors");
}

// A link may lead to a file of the same folder, or to where the hub's cache keeps the files of a snapshot:
// <repository>/snapshots/<revision>/name → <repository>/blobs/<hash>.
void check_inside(const fs::path& folder, const fs::path& shard, const std::string& index) {
  std::error_code failed;
  const fs::path real_folder = fs::canonical(folder, failed);
  const fs::path real = fs::canonical(shard, failed);
  if (failed) {
    fail_model(index, shard.filename().string(), {kShardIndex, "is named by the index and not there"});
  }
  const bool is_cache = real_folder.parent_path().filename() == "snapshots";
  const fs::path blobs = real_folder.parent_path().parent_path() / "blobs";
  if (real.parent_path() == real_folder || (is_cache && real.parent_path() == blobs)) return;
  fail_model(index, shard.filename().string(),
             {kShardIndex, "is a link that leads out of the folder", "put the file itself there"});
}

// One shard's tensors are those that the index gives it, no more and no fewer.
void check_shard(const std::string& shard,
                 const std::string& file,
                 const SafetensorsHeader& header,
                 const std::map<std::string, std::string>& index) {
  std::set<std::string> found;
  for (const TensorInfo& tensor : header.tensors) {
    const auto entry = index.find(tensor.name);
    if (entry == index.end()) fail_model(file, tensor.name, {kShardIndex, "is not in the index"});
    if (entry->second != shard) {
      fail_model(file, tensor.name,
                 {kTensorTwice, "is here, and by the index in " + printable(entry->second)});
    }
    found.insert(tensor.name);
  }
  for (const auto& [name, place] : index) {
    if (place == shard && found.count(name) == 0) {
      fail_model(file, name, {kTensorAbsent, "is not in the file that the index names for it"});
    }
  }
}

Checkpoint open_sharded(const fs::path& folder) {
  const std::string index_file = (folder / kIndex).string();
  const ModelFile mapped(index_file);
  if (mapped.bytes().size() > kMaxIndexBytes) {
    fail_model(index_file, "", {kModelHeaderLength, "is larger than 100,000,000 bytes"});
  }
  const std::string text(reinterpret_cast<const char*>(mapped.bytes().data()), mapped.bytes().size());
  const std::map<std::string, std::string> index = read_shard_index(text, index_file);
  std::set<std::string> shards;
  for (const auto& [name, shard] : index) shards.insert(shard);
  if (shards.size() > kMaxShards) {
    fail_model(index_file, "",
               {kShardIndex, "names " + std::to_string(shards.size()) + " shards; at most 4096"});
  }
  std::vector<ModelFile> files;
  std::vector<TensorInfo> tensors;
  for (const std::string& shard : shards) {
    check_inside(folder, folder / shard, index_file);
    files.emplace_back((folder / shard).string());
    SafetensorsHeader header = read_safetensors_header(files.back().bytes(), files.back().path());
    check_shard(shard, files.back().path(), header, index);
    for (TensorInfo& tensor : header.tensors) {
      tensor.file = files.size() - 1;
      tensors.push_back(std::move(tensor));
    }
    files.back().check_unchanged();
  }
  return {std::move(files), std::move(tensors)};
}

}  // namespace

std::map<std::string, std::string> read_shard_index(const std::string& text, const std::string& file) {
  IndexReader reader(file);
  reader.parse(text);
  std::map<std::string, std::string> shards = reader.take();
  if (shards.empty()) fail_model(file, "weight_map", {kShardIndex, "is missing or names no tensor"});
  for (const auto& [name, shard] : shards) {
    if (is_plain_name(shard)) continue;
    fail_model(file, name,
               {kShardIndex, "its shard \"" + printable(shard) + "\" is no plain name of a safetensors file",
                "shards lie beside the index"});
  }
  return shards;
}

Checkpoint open_safetensors(const std::string& file) {
  std::vector<ModelFile> files;
  files.emplace_back(file);
  std::vector<TensorInfo> tensors = read_safetensors_header(files.front().bytes(), file).tensors;
  files.front().check_unchanged();
  return {std::move(files), std::move(tensors)};
}

Checkpoint open_safetensors_folder(const std::string& folder) {
  const fs::path path(folder);
  std::error_code ignored;
  if (fs::exists(path / kSingle, ignored)) return open_safetensors((path / kSingle).string());
  if (fs::exists(path / kIndex, ignored)) return open_sharded(path);
  fail_model(folder, "",
             {kModelFileMissing, std::string("has neither ") + kSingle + " nor " + kIndex,
              "name a folder with weights in safetensors"});
}

}  // namespace servetwin
