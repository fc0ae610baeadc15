// The times of a step's operations by Vidur's rule, from its tables. docs/cost-models.md states the rule.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "costmodels/cost_model.h"
#include "costmodels/number_table.h"
#include "engine/base/digest.h"

namespace servetwin {

// What is timed: so many layers on one pipeline stage.
struct VidurStage {
  double layers = 0;
  bool grouped_queries = false;  // fewer KV heads than query heads: batched attention costs a surcharge
  bool split = false;            // among ranks: two all-reduces a layer
  bool sends = false;            // its activations to a next stage
  bool host = false;             // host times are read too
};

// Milliseconds of the whole stage. Asking beyond reach() breaks an invariant.
class VidurOps {
 public:
  struct TokenTimes {
    double gemm = 0;
    double elementwise = 0;
    double collective = 0;
  };

  // The folder of by_tokens.csv, attn_decode.csv, attn_prefill.csv and, with `host`, cpu_overhead.csv.
  // Throws ConfigError with file and line.
  VidurOps(const std::string& folder, const VidurStage& stage);

  const TokenTimes& by_tokens(std::int64_t tokens) const;
  // All rows as one: chunks by their root sum of squares, contexts by their sum on the grid.
  double prefill_ms(std::span<const PrefillRow> rows) const;
  // All rows at their mean context, on the grid.
  double decode_ms(std::int64_t rows, std::int64_t sum_of_contexts) const;
  // 0 where it is not read.
  double host_ms(std::int64_t requests) const;

  StepLimits reach() const;
  // Of every number that was read.
  std::uint64_t hash() const { return hash_.value(); }

 private:
  NumberTable table(const std::string& name);
  void sum_by_tokens();
  void sum_host();

  std::string folder_;
  VidurStage stage_;
  Digest hash_;
  RangeTimes decode_;
  RangeTimes prefill_;
  std::vector<TokenTimes> tokens_;  // on the grid
  std::vector<double> host_;        // from one request on
};

}  // namespace servetwin
