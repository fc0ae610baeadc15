// Byte-pair encoding of one word: the lowest-ranked pair of neighbours becomes one, until none is left.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <queue>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/base/flat_map.h"
#include "engine/base/token_id.h"

namespace servetwin {

struct BpeMerge {
  TokenId left = kNoToken;
  TokenId right = kNoToken;
  TokenId result = kNoToken;
  std::uint32_t rank = 0;  // the lower goes first; equal ranks from left to right
};

struct BpeOptions {
  bool bytes = false;                   // a word's units are bytes, else characters
  bool ignore_merges = false;           // a word that is a token is that token, whatever the merges say
  bool fuse_unknown = false;            // neighbouring unknown units give one unknown token
  TokenId unknown = kNoToken;           // without one, unknown units vanish
  std::array<TokenId, 256> fallback{};  // the token of each byte of a character that is no token
  bool byte_fallback = false;
};

// Where the work of one encoding lives; reused from word to word.
class BpeScratch {
 private:
  friend class BpeModel;
  struct Symbol {
    TokenId token = kNoToken;
    std::int32_t previous = -1;
    std::int32_t next = -1;
    bool alive = true;
  };
  struct Candidate {
    std::uint32_t rank = 0;
    std::int32_t left = 0;
    TokenId result = kNoToken;
  };
  struct Later {
    bool operator()(const Candidate& a, const Candidate& b) const {
      return a.rank != b.rank ? a.rank > b.rank : a.left > b.left;
    }
  };
  std::vector<Symbol> symbols_;
  std::priority_queue<Candidate, std::vector<Candidate>, Later> queue_;
};

class BpeModel {
 public:
  BpeModel() = default;
  // `words[id]` is what the token stands for in the words given to encode(); empty: it never results.
  BpeModel(const std::vector<std::string>& words, const std::vector<BpeMerge>& merges, BpeOptions options);

  // Appends the word's tokens: O(n log n), in memory that grows with the word.
  void encode(std::string_view word, BpeScratch& scratch, std::vector<TokenId>& out) const;

 private:
  struct Result {
    std::uint32_t rank = 0;
    TokenId token = kNoToken;
  };
  static std::uint64_t key(TokenId left, TokenId right) {
    return (std::uint64_t{static_cast<std::uint32_t>(left)} << 32U) | static_cast<std::uint32_t>(right);
  }

  TokenId find(std::string_view unit) const;
  void append_units(std::string_view word, BpeScratch& scratch) const;
  bool append_fallback(std::string_view unit, BpeScratch& scratch) const;
  void propose(std::int32_t left, BpeScratch& scratch) const;
  void merge_all(BpeScratch& scratch) const;

  BpeOptions options_;
  std::array<TokenId, 256> single_bytes_{};
  std::unordered_map<std::string, TokenId> words_;
  FlatMap<std::uint64_t, Result> merges_;
};

}  // namespace servetwin
