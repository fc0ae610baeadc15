// What a streamed answer says: when its tokens came, how many, and how it ended.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "calibrate/endpoint/load_client.h"

namespace servetwin {

// One server-sent event. Its time is that of the bytes that completed it.
struct StreamEvent {
  Duration at{0};
  std::string data;
};
std::vector<StreamEvent> stream_events(const std::vector<BodyPart>& parts);

// Tokens so far; a fraction where events hold several and nobody says how many each.
struct TokenMark {
  Duration at{0};
  double tokens = 0;
};

// How tokens were counted: the server said so with each event, at the end, or not at all, in which case an
// answer that ended by its length has as many as were asked for.
enum class TokenCount { kEachEvent, kAtEnd, kAsked };

struct TimedAnswer {
  std::string problem;             // why it counts for nothing; empty: it is whole
  std::int64_t prompt_tokens = 0;  // 0: the server does not say
  std::int64_t cached_tokens = 0;
  std::int64_t tokens = 0;
  TokenCount counted = TokenCount::kEachEvent;
  std::string finish_reason;
  Duration sent{0};
  Duration ended{0};
  std::vector<TokenMark> marks;  // one for each event with new tokens

  Duration first() const { return marks.front().at; }
  Duration last() const { return marks.back().at; }
  // At that time; between marks those of the earlier.
  double tokens_at(Duration at) const;
};

// Of an answer that was asked for so many tokens. Deltas of the role alone and empty ones are no tokens;
// text, reasoning and tool calls are.
TimedAnswer timed_answer(const HttpAnswer& answer, std::int64_t asked);

}  // namespace servetwin
