// Answers between the thread that generates and the thread that sends: one slot each, merged while nobody
// takes.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "engine/live/http/completion_engine.h"

namespace servetwin {

struct AnswerDelta {
  std::string text;
  std::int64_t tokens = 0;       // so far
  TokenReports reports;          // of the tokens that came
  std::optional<AnswerEnd> end;  // nothing follows
};

// A slow reader costs one slot with the text it has not taken, which the limit of its answer bounds.
class AnswerBoard final : public AnswerListener {
 public:
  // `wake` is called once when something comes after a take(), on the thread that brings it and under the
  // board's lock.
  void open(RequestId id, std::function<void()> wake);
  // What still comes for it is dropped.
  void close(RequestId id);
  // What came since the last time. The slot must be open.
  AnswerDelta take(RequestId id);
  // Open slots.
  std::size_t size() const;

  void append(RequestId request, std::string_view text, std::int64_t tokens, TokenReports reports) override;
  void end(RequestId request, const AnswerEnd& end) override;

 private:
  struct Slot {
    std::function<void()> wake;
    bool woken = false;
    AnswerDelta delta;
  };

  void wake(Slot& slot);

  mutable std::mutex mutex_;
  std::map<RequestId, Slot> slots_;
};

}  // namespace servetwin
