// A linked list of symbols and a heap of candidate pairs; a candidate whose pair has changed is passed over.
#include "engine/models/tokenizer/bpe.h"

#include <algorithm>
#include <utility>

#include "engine/models/tokenizer/utf8.h"

namespace servetwin {

BpeModel::BpeModel(const std::vector<std::string>& words,
                   const std::vector<BpeMerge>& merges,
                   BpeOptions options)
    : options_(std::move(options)) {
  single_bytes_.fill(kNoToken);
  words_.reserve(words.size());
  for (std::size_t id = 0; id < words.size(); ++id) {
    if (words[id].empty()) continue;
    const TokenId token = static_cast<TokenId>(id);
    words_.emplace(words[id], token);
    if (words[id].size() == 1) single_bytes_[static_cast<unsigned char>(words[id][0])] = token;
  }
  merges_.reserve(merges.size());
  for (const BpeMerge& merge : merges) {
    const auto [known, is_new] = merges_.insert(key(merge.left, merge.right), {merge.rank, merge.result});
    if (!is_new) *known = {merge.rank, merge.result};  // a pair listed twice: the later line holds
  }
}

void BpeModel::encode(std::string_view word, BpeScratch& scratch, std::vector<TokenId>& out) const {
  if (options_.ignore_merges) {
    const auto known = words_.find(std::string(word));
    if (known != words_.end()) {
      out.push_back(known->second);
      return;
    }
  }
  append_units(word, scratch);
  merge_all(scratch);
  for (const BpeScratch::Symbol& symbol : scratch.symbols_) {
    if (symbol.alive) out.push_back(symbol.token);
  }
}

TokenId BpeModel::find(std::string_view unit) const {
  if (unit.size() == 1) return single_bytes_[static_cast<unsigned char>(unit[0])];
  const auto known = words_.find(std::string(unit));
  return known == words_.end() ? kNoToken : known->second;
}

// An unknown unit is written when the next known one or the end comes, so that neighbours can fuse; tokens of
// the byte fallback go before it. That order is Hugging Face's.
void BpeModel::append_units(std::string_view word, BpeScratch& scratch) const {
  std::vector<BpeScratch::Symbol>& symbols = scratch.symbols_;
  symbols.clear();
  bool pending = false;
  const auto flush = [&] {
    if (pending) symbols.push_back({options_.unknown});
    pending = false;
  };
  while (!word.empty()) {
    const std::size_t length = options_.bytes ? 1 : next_utf8(word).length;
    const std::string_view unit = word.substr(0, length);
    word.remove_prefix(length);
    const TokenId token = find(unit);
    if (token != kNoToken) {
      flush();
      symbols.push_back({token});
    } else if (!append_fallback(unit, scratch) && options_.unknown != kNoToken) {
      if (!options_.fuse_unknown) flush();
      pending = true;
    }
  }
  flush();
}

bool BpeModel::append_fallback(std::string_view unit, BpeScratch& scratch) const {
  if (!options_.byte_fallback) return false;
  const auto of = [this](char c) { return options_.fallback[static_cast<unsigned char>(c)]; };
  if (std::any_of(unit.begin(), unit.end(), [&](char c) { return of(c) == kNoToken; })) return false;
  for (const char c : unit) scratch.symbols_.push_back({of(c)});
  return true;
}

void BpeModel::propose(std::int32_t left, BpeScratch& scratch) const {
  if (left < 0) return;
  const BpeScratch::Symbol& first = scratch.symbols_[static_cast<std::size_t>(left)];
  if (first.next < 0) return;
  const BpeScratch::Symbol& second = scratch.symbols_[static_cast<std::size_t>(first.next)];
  const Result* merge = merges_.find(key(first.token, second.token));
  if (merge != nullptr) scratch.queue_.push({merge->rank, left, merge->token});
}

void BpeModel::merge_all(BpeScratch& scratch) const {
  std::vector<BpeScratch::Symbol>& symbols = scratch.symbols_;
  const std::int32_t count = static_cast<std::int32_t>(symbols.size());
  for (std::int32_t i = 0; i < count; ++i) {
    symbols[static_cast<std::size_t>(i)].previous = i - 1;
    symbols[static_cast<std::size_t>(i)].next = i + 1 < count ? i + 1 : -1;
  }
  for (std::int32_t i = 0; i + 1 < count; ++i) propose(i, scratch);
  while (!scratch.queue_.empty()) {
    const BpeScratch::Candidate best = scratch.queue_.top();
    scratch.queue_.pop();
    BpeScratch::Symbol& first = symbols[static_cast<std::size_t>(best.left)];
    if (!first.alive || first.next < 0) continue;
    BpeScratch::Symbol& second = symbols[static_cast<std::size_t>(first.next)];
    const Result* merge = merges_.find(key(first.token, second.token));
    if (merge == nullptr || merge->token != best.result) continue;
    first.token = best.result;
    first.next = second.next;
    second.alive = false;
    if (first.next >= 0) symbols[static_cast<std::size_t>(first.next)].previous = best.left;
    propose(first.previous, scratch);
    propose(best.left, scratch);
  }
}

}  // namespace servetwin
