// A folder with a small model as Hugging Face lays it out, gone at the end.
#pragma once

#include <filesystem>
#include <string>

#include "engine/models/spec.h"
#include "engine/models/weights.h"

namespace servetwin {

class TinyCheckpoint {
 public:
  // Writes config.json and model.safetensors in f32. Of a Llama or Qwen2 with a plain rotary embedding.
  TinyCheckpoint(const std::string& name, const ModelSpec& spec, const ModelWeights& weights);
  // Of any family: the spec is what `config` says, the text of config.json.
  TinyCheckpoint(const std::string& name,
                 const std::string& config,
                 const ModelSpec& spec,
                 const ModelWeights& weights);
  ~TinyCheckpoint();
  TinyCheckpoint(const TinyCheckpoint&) = delete;
  TinyCheckpoint& operator=(const TinyCheckpoint&) = delete;

  std::string path() const { return path_.string(); }
  void write(const std::string& name, const std::string& bytes) const;

 private:
  std::filesystem::path path_;
};

}  // namespace servetwin
