// Reads safetensors: one file, or the shards that model.safetensors.index.json names.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/models/checkpoints/checkpoint.h"

namespace servetwin {

struct SafetensorsHeader {
  std::vector<TensorInfo> tensors;
  std::map<std::string, std::string> metadata;  // __metadata__
};

// Of the bytes of a whole file, whose name is for messages. Throws ConfigError, with a code for each kind of
// fault: docs/models.md lists them.
SafetensorsHeader read_safetensors_header(ByteSpan bytes, const std::string& file);

Checkpoint open_safetensors(const std::string& file);

// model.safetensors of the folder when it is there, else the shards of the index.
Checkpoint open_safetensors_folder(const std::string& folder);

// Tensor name → shard, of the text of an index. Shards are plain names of files beside it.
std::map<std::string, std::string> read_shard_index(const std::string& text, const std::string& file);

}  // namespace servetwin
