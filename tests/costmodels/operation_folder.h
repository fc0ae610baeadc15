// Folders of operation tables for tests.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

namespace servetwin {

struct OperationTexts {
  std::string by_tokens;
  std::string attn_decode;
  std::string attn_prefill;
  std::string cpu_overhead;
};

// A folder in the working directory, removed afterwards.
class OperationFolder {
 public:
  OperationFolder(std::string path, const OperationTexts& texts) : path_(std::move(path)) {
    std::filesystem::create_directory(path_);
    write("by_tokens.csv", texts.by_tokens);
    write("attn_decode.csv", texts.attn_decode);
    write("attn_prefill.csv", texts.attn_prefill);
    if (!texts.cpu_overhead.empty()) write("cpu_overhead.csv", texts.cpu_overhead);
  }
  ~OperationFolder() { std::filesystem::remove_all(path_); }
  OperationFolder(const OperationFolder&) = delete;
  OperationFolder& operator=(const OperationFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  void write(const char* name, const std::string& text) {
    std::ofstream(std::filesystem::path(path_) / name) << text;
  }

  std::string path_;
};

inline constexpr const char* kByTokensHeader =
    "num_tokens,attn_pre_proj_ms,attn_post_proj_ms,mlp_up_proj_ms,mlp_down_proj_ms,mlp_act_ms,attn_rope_ms,"
    "attn_kv_cache_save_ms,input_layernorm_ms,post_attention_layernorm_ms,add_ms,send_recv_ms,"
    "all_reduce_ms\n";

// Tables that reach 512 decode rows and 64Ki tokens of context and only rise, as a device's never quite do.
inline OperationTexts rising_tables() {
  OperationTexts texts;
  texts.by_tokens = kByTokensHeader;
  for (int n = 8; n <= 16384; n += 8) {
    texts.by_tokens += std::to_string(n);
    for (int column = 0; column < 12; ++column) texts.by_tokens += ',' + std::to_string(1000 + n) + "e-5";
    texts.by_tokens += '\n';
  }
  // A row more weighs more than the shorter mean that it may bring.
  texts.attn_decode = "batch_size,kv_from,kv_to,ms\n";
  for (int rows = 1; rows <= 512; ++rows) {
    const std::string batch = std::to_string(rows);
    texts.attn_decode += batch + ",0,2048," + batch + "\n" + batch + ",2049,65536," + batch + ".5\n";
  }
  texts.attn_prefill = "kv,chunk_from,chunk_to,ms\n";
  for (int kv = 0; kv <= 65536; kv += 64) {
    const std::string base = std::to_string(kv);
    texts.attn_prefill += base + ",1,256," + base + "e-3\n" + base + ",257,16384," + base + ".5e-3\n";
  }
  return texts;
}

}  // namespace servetwin
