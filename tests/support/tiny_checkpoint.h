// A folder with a small model as Hugging Face lays it out, gone at the end.
#pragma once

#include <filesystem>
#include <string>

#include "engine/models/spec.h"
#include "engine/models/weights.h"

namespace servetwin {

class TinyCheckpoint {
 public:
  // Writes config.json and model.safetensors in f32. The spec's rotary embedding must be a plain one.
  TinyCheckpoint(const std::string& name, const ModelSpec& spec, const LlamaWeights& weights);
  ~TinyCheckpoint();
  TinyCheckpoint(const TinyCheckpoint&) = delete;
  TinyCheckpoint& operator=(const TinyCheckpoint&) = delete;

  std::string path() const { return path_.string(); }
  void write(const std::string& name, const std::string& bytes) const;

 private:
  std::filesystem::path path_;
};

}  // namespace servetwin
