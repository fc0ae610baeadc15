// Lets text through except what could still become a stop string.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace servetwin {

// Of the matches in a text the one that ends first counts, of those the longest: the answer does not depend
// on how the text was cut into pieces.
class StopStrings {
 public:
  // None of the stops is empty. `include`: the stop string itself is part of the answer.
  StopStrings(std::vector<std::string> stops, bool include);

  // What may go out now. While `armed` is false a match ends nothing. Nothing comes any more once matched.
  std::string feed(std::string_view text, bool armed);

  // What was held, when no more text comes.
  std::string finish();

  bool matched() const { return matched_; }

 private:
  struct Stop {
    std::string text;
    std::vector<std::size_t> fallback{};  // by bytes matched: how many of them start another match
    std::size_t matched = 0;              // of the end of what was fed
  };

  bool advance(Stop& stop, char byte) const;

  std::vector<Stop> stops_;
  std::string held_;
  bool include_ = false;
  bool matched_ = false;
};

}  // namespace servetwin
