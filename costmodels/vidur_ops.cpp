// Tables are summed once, when they are read: a step looks up one row of each.
#include "costmodels/vidur_ops.h"

#include <cmath>
#include <filesystem>

#include "engine/base/check.h"
#include "engine/base/error.h"
#include "engine/base/params.h"

namespace servetwin {
namespace {

constexpr std::int64_t kTokenGrid = 8;
constexpr std::int64_t kContextGrid = 64;
constexpr double kAllReduceLaunchMs = 0.02;
constexpr double kBatchedAttention = 1.1;

std::int64_t up_to_grid(std::int64_t context) {
  return (context + kContextGrid - 1) / kContextGrid * kContextGrid;
}

// The keys go up from `step` in equal steps, so that a row is found by its key.
void check_keys(const NumberTable& table, const std::string& key, std::int64_t step) {
  const std::vector<double>& keys = table.column(key);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const std::int64_t due = step * static_cast<std::int64_t>(i + 1);
    if (keys[i] == static_cast<double>(due)) continue;
    throw ConfigError(Problem{kCodeBadValue,
                              {table.file, 0, 0},
                              "",
                              key + " goes up in steps of " + std::to_string(step) + ", but row " +
                                  std::to_string(i + 1) + " is not " + std::to_string(due),
                              ""});
  }
}

}  // namespace

VidurOps::VidurOps(const std::string& folder, const VidurStage& stage)
    : folder_(folder),
      stage_(stage),
      decode_(table("attn_decode.csv"), "batch_size", "kv_from", "kv_to", "ms"),
      prefill_(table("attn_prefill.csv"), "kv", "chunk_from", "chunk_to", "ms") {
  sum_by_tokens();
  if (stage_.host) sum_host();
}

NumberTable VidurOps::table(const std::string& name) {
  NumberTable read = read_number_table((std::filesystem::path(folder_) / name).string());
  hash_.add(read.hash);
  return read;
}

void VidurOps::sum_by_tokens() {
  const NumberTable read = table("by_tokens.csv");
  check_keys(read, "num_tokens", kTokenGrid);
  const auto at = [&](const char* name, std::size_t row) { return read.column(name)[row]; };
  for (std::size_t i = 0; i < read.num_rows(); ++i) {
    TokenTimes times;
    times.gemm = stage_.layers * (at("attn_pre_proj_ms", i) + at("attn_post_proj_ms", i) +
                                  at("mlp_up_proj_ms", i) + at("mlp_down_proj_ms", i));
    times.elementwise =
        stage_.layers *
        (at("input_layernorm_ms", i) + at("attn_rope_ms", i) + at("attn_kv_cache_save_ms", i) +
         at("post_attention_layernorm_ms", i) + at("mlp_act_ms", i) + at("add_ms", i));
    if (stage_.split) times.collective = stage_.layers * 2.0 * (at("all_reduce_ms", i) + kAllReduceLaunchMs);
    if (stage_.sends) times.collective += at("send_recv_ms", i);
    tokens_.push_back(times);
  }
}

void VidurOps::sum_host() {
  const NumberTable read = table("cpu_overhead.csv");
  check_keys(read, "num_requests", 1);
  host_.assign(read.num_rows(), 0.0);
  for (std::size_t column = 0; column < read.names.size(); ++column) {
    if (read.names[column] == "num_requests") continue;
    for (std::size_t i = 0; i < host_.size(); ++i) host_[i] += read.columns[column][i];
  }
}

const VidurOps::TokenTimes& VidurOps::by_tokens(std::int64_t tokens) const {
  CHECK_INVARIANT(tokens >= 1, tokens);
  CHECK_INVARIANT(tokens <= reach().tokens, tokens, folder_);
  return tokens_[static_cast<std::size_t>((tokens - 1) / kTokenGrid)];
}

double VidurOps::prefill_ms(std::span<const PrefillRow> rows) const {
  if (rows.empty()) return 0;
  std::int64_t context = 0;
  std::int64_t squares = 0;
  for (const PrefillRow& row : rows) {
    context += up_to_grid(row.context);
    squares += row.tokens * row.tokens;
  }
  // The root of a whole number is never halfway between two, so any way of rounding is the rule's.
  const double chunk = std::sqrt(static_cast<double>(squares)) + 0.5;
  const double ms = stage_.layers * prefill_.at(context, static_cast<std::int64_t>(chunk));
  return stage_.grouped_queries && rows.size() > 1 ? ms * kBatchedAttention : ms;
}

double VidurOps::decode_ms(std::int64_t rows, std::int64_t sum_of_contexts) const {
  if (rows == 0) return 0;
  const double ms = stage_.layers * decode_.at(rows, up_to_grid(sum_of_contexts / rows));
  return stage_.grouped_queries && rows > 1 ? ms * kBatchedAttention : ms;
}

double VidurOps::host_ms(std::int64_t requests) const {
  if (!stage_.host) return 0;
  CHECK_INVARIANT(requests <= static_cast<std::int64_t>(host_.size()), requests, folder_);
  return host_[static_cast<std::size_t>(requests - 1)];
}

StepLimits VidurOps::reach() const {
  StepLimits limits;
  limits.tokens = static_cast<std::int64_t>(tokens_.size()) * kTokenGrid;
  limits.sequences = decode_.last_group();
  limits.context = decode_.last_value();
  return limits;
}

}  // namespace servetwin
