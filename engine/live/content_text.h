// Token ids of synthetic text: what stands behind the content segments of a workload's prompts.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "engine/decoding/sampling_params.h"
#include "engine/serving/request.h"

namespace servetwin {

// Where a request's generated text goes: it continues a stream of the workload, or one of its own.
struct TextPlace {
  std::uint64_t stream = 0;
  std::int64_t offset = 0;  // of the first generated token
  bool shared = false;      // later prompts may repeat it
};

TextPlace generated_place(const RequestSpec& request);

// A token is a pure function of (seed, stream, offset), so prompts whose segments are equal hold equal
// tokens; text that a model generated into a shared stream takes the place of what would stand there, and is
// kept for the rest of the run. Safe to call from several threads.
class ContentText {
 public:
  ContentText(std::uint64_t seed, std::int64_t vocab) : seed_(seed), vocab_(vocab) {}

  std::vector<TokenId> prompt(const RequestSpec& request) const;
  void put_generated(std::uint64_t stream, std::int64_t offset, TokenId token);

 private:
  TokenId synthetic(std::uint64_t stream, std::int64_t offset) const;
  void append(std::uint64_t stream, std::int64_t length, std::vector<TokenId>& tokens) const;

  std::uint64_t seed_;
  std::int64_t vocab_;
  mutable std::mutex mutex_;
  std::map<std::uint64_t, std::map<std::int64_t, TokenId>> generated_;
};

}  // namespace servetwin
