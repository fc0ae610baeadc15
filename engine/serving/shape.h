// The shape of a step: the integer statistics that cost models price and calibration measures.
#pragma once

#include <algorithm>
#include <cstdint>

namespace servetwin {

// Kept incrementally by the step builder. A decode row has query length 1 and continues an already computed
// context; every other row is a prefill row (also the recomputed part of a resumed request).
struct StepShape {
  std::int64_t tokens = 0;     // scheduled tokens, without the padding of a graph
  std::int64_t sequences = 0;  // rows
  std::int64_t decode_sequences = 0;
  std::int64_t decode_context = 0;  // sum over decode rows of keys read, the row's own token included
  std::int64_t max_context = 0;     // longest context after the step, over all rows
  std::int64_t prefill_sequences = 0;
  std::int64_t prefill_tokens = 0;     // sum q
  std::int64_t prefill_q_context = 0;  // sum q * (tokens computed before this chunk)
  std::int64_t prefill_q_squared = 0;  // sum q * q
  std::int64_t sampled_rows = 0;       // rows whose last token yields an output
  std::int64_t new_sequences = 0;      // rows admitted in this step
  std::int64_t swap_out_blocks = 0;    // KV blocks copied to the host before the step
  std::int64_t swap_in_blocks = 0;     // and back
  std::int64_t graph_size = 0;         // captured batch size the step is padded to, 0 when no graph is used
  // Static batching computes a batch padded to its longest; the sums above hold this share of padding.
  std::int64_t padding_sequences = 0;  // rows of requests that have ended
  std::int64_t padding_tokens = 0;
  // Where layers with a window are priced: what a query of theirs sees at most, and the sums cut by it.
  std::int64_t window = 0;          // tokens, the query's own with them; 0: these sums are not kept
  std::int64_t window_context = 0;  // of decode_context: sum over decode rows of min(keys, window)
  std::int64_t window_pairs = 0;    // sum over prefill rows of (query, key) pairs in the band

  bool pure_decode() const { return prefill_sequences == 0 && decode_sequences > 0; }

  friend bool operator==(const StepShape&, const StepShape&) = default;
};

// Pairs of `tokens` queries after `context` computed tokens, each with at most `window` keys up to its own.
constexpr std::int64_t pairs_in_window(std::int64_t tokens, std::int64_t context, std::int64_t window) {
  const std::int64_t rising = std::clamp<std::int64_t>(window - context, 0, tokens);
  return rising * context + rising * (rising + 1) / 2 + (tokens - rising) * window;
}

}  // namespace servetwin
