// A map under a lock.
#include "engine/live/http/answer_board.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "engine/base/check.h"

namespace servetwin {

void AnswerBoard::open(RequestId id, std::function<void()> wake) {
  const std::lock_guard lock(mutex_);
  const bool is_new = slots_.emplace(id, Slot{std::move(wake), false, {}}).second;
  CHECK_INVARIANT(is_new, raw(id));
}

void AnswerBoard::close(RequestId id) {
  const std::lock_guard lock(mutex_);
  slots_.erase(id);
}

AnswerDelta AnswerBoard::take(RequestId id) {
  const std::lock_guard lock(mutex_);
  Slot& slot = slots_.at(id);
  slot.woken = false;
  AnswerDelta taken;
  std::swap(taken, slot.delta);
  slot.delta.tokens = taken.tokens;
  slot.delta.end = taken.end;
  return taken;
}

std::size_t AnswerBoard::size() const {
  const std::lock_guard lock(mutex_);
  return slots_.size();
}

void AnswerBoard::append(RequestId request,
                         std::string_view text,
                         std::int64_t tokens,
                         TokenReports reports) {
  const std::lock_guard lock(mutex_);
  const auto found = slots_.find(request);
  if (found == slots_.end()) return;
  AnswerDelta& delta = found->second.delta;
  delta.text += text;
  delta.tokens = tokens;
  std::move(reports.begin(), reports.end(), std::back_inserter(delta.reports));
  wake(found->second);
}

void AnswerBoard::end(RequestId request, const AnswerEnd& end) {
  const std::lock_guard lock(mutex_);
  const auto found = slots_.find(request);
  if (found == slots_.end()) return;
  CHECK_INVARIANT(!found->second.delta.end.has_value(), raw(request));
  found->second.delta.end = end;
  found->second.delta.tokens = end.outputs.value;
  wake(found->second);
}

void AnswerBoard::wake(Slot& slot) {
  if (std::exchange(slot.woken, true)) return;
  slot.wake();
}

}  // namespace servetwin
