// Rows of closed-loop runs made into scenarios.
#pragma once

#include <cstdint>
#include <string>

#include "engine/base/csv_table.h"
#include "scenarios/published/served_case.h"

namespace servetwin {

struct SiliconRanks {
  std::int64_t all = 1;
  std::int64_t attention_dp = 1;
  std::int64_t ep = 1;
};

// More than a node's eight devices stand in rows that the publication's own names call tp4_ep4 or tp8_ep8:
// the same ranks were counted once for each way of splitting, so that n by n is n.
SiliconRanks silicon_ranks(std::int64_t tp,
                           std::int64_t attention_dp,
                           std::int64_t moe_tp,
                           std::int64_t moe_ep);

// Whether the row's benchmark ran with multi-token prediction, which its columns do not tell but its
// changelog does: DeepSeek on TensorRT-LLM in containers, or at dates, of its configurations "trt-mtp" alone.
bool is_speculative(const CsvTable& table, std::size_t row);

// Model and engine: what is left out together.
std::string silicon_group(const CsvTable& table, std::size_t row);

// One group of ranks that computes attention for its own requests, all others doing the same.
ServedCase silicon_case(const CsvTable& table, std::size_t row);

}  // namespace servetwin
