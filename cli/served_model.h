// The options of serve --model: which model, how much memory for its KV cache, how it is scheduled.
#pragma once

#include <cstdint>
#include <string>

#include "cli/arguments.h"
#include "cli/split_layout_options.h"
#include "scenarios/live_engine.h"

namespace servetwin {

// The whole number that an option of serve gives. Throws UsageError.
std::int64_t serve_number(const char* option, const std::string& text, std::int64_t least, std::int64_t most);

class ServedModel {
 public:
  void declare(Arguments& arguments);
  bool is_given() const { return !model_.empty(); }
  bool has_options() const { return *this != ServedModel(); }
  // Throws UsageError, also where the memory of the KV cache is not given exactly once.
  LiveEngineOptions options(const std::string& name) const;
  // What was loaded and how many tokens the KV cache holds, for the user.
  static std::string describe(const LiveEngine& engine);

  friend bool operator==(const ServedModel&, const ServedModel&) = default;

 private:
  Blocks num_blocks(const LiveEngineOptions& options) const;
  DType kv_dtype() const;

  std::string model_;
  std::string num_blocks_;
  std::string kv_memory_;
  std::string block_size_ = "16";
  std::string kv_dtype_ = "f32";
  std::string max_model_len_;
  std::string max_num_seqs_ = "64";
  std::string max_num_batched_tokens_ = "512";
  std::string tp_ = "1";
  SplitLayoutOptions layout_;
  std::string threads_ = "1";
  std::string seed_ = "1";
};

}  // namespace servetwin
