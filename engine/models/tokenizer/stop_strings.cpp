// Knuth-Morris-Pratt for each stop string, side by side.
#include "engine/models/tokenizer/stop_strings.h"

#include <algorithm>
#include <utility>

#include "engine/base/check.h"

namespace servetwin {
namespace {

std::vector<std::size_t> fallbacks(const std::string& text) {
  std::vector<std::size_t> fallback(text.size() + 1, 0);
  std::size_t length = 0;
  for (std::size_t i = 1; i < text.size(); ++i) {
    while (length > 0 && text[i] != text[length]) length = fallback[length];
    if (text[i] == text[length]) ++length;
    fallback[i + 1] = length;
  }
  return fallback;
}

}  // namespace

StopStrings::StopStrings(std::vector<std::string> stops, bool include) : include_(include) {
  for (std::string& stop : stops) {
    CHECK_INVARIANT(!stop.empty());
    std::vector<std::size_t> fallback = fallbacks(stop);
    stops_.push_back({std::move(stop), std::move(fallback)});
  }
}

// Whether the stop string ends with this byte.
bool StopStrings::advance(Stop& stop, char byte) const {
  if (stop.matched == stop.text.size()) stop.matched = stop.fallback[stop.matched];
  while (stop.matched > 0 && stop.text[stop.matched] != byte) stop.matched = stop.fallback[stop.matched];
  if (stop.text[stop.matched] == byte) ++stop.matched;
  return stop.matched == stop.text.size();
}

std::string StopStrings::feed(std::string_view text, bool armed) {
  std::string out;
  for (const char byte : text) {
    if (matched_) break;
    held_ += byte;
    std::size_t longest_stop = 0;
    std::size_t longest_start = 0;
    for (Stop& stop : stops_) {
      const bool complete = advance(stop, byte);
      if (complete) longest_stop = std::max(longest_stop, stop.matched);
      const std::size_t start = complete ? stop.fallback[stop.matched] : stop.matched;
      longest_start = std::max(longest_start, start);
    }
    matched_ = armed && longest_stop > 0;
    const std::size_t kept = matched_ ? (include_ ? 0 : longest_stop) : longest_start;
    out += std::string_view(held_).substr(0, held_.size() - kept);
    held_.erase(0, held_.size() - kept);
  }
  if (matched_) held_.clear();
  return out;
}

std::string StopStrings::finish() { return std::exchange(held_, {}); }

}  // namespace servetwin
