// The token ids of each answer, for tokens.jsonl.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "engine/live/model_runner.h"

namespace servetwin {

// A token that was discarded is put out again under its index.
class TokenCollector {
 public:
  // From any thread.
  void take(const OutputToken& token);
  // A line of JSON for each request that got a token, by id.
  std::string text() const;

 private:
  std::mutex mutex_;
  std::map<RequestId, std::vector<TokenId>> outputs_;
};

}  // namespace servetwin
