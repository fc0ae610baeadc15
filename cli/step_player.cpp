// Going back beyond the frames that are kept means another run from the beginning, which is the same run.
#include "cli/step_player.h"

#include <algorithm>
#include <utility>

namespace servetwin {
namespace {

constexpr std::uint64_t kFramesBefore = 256;  // of those before a step that was jumped to
constexpr std::size_t kMaxFrames = 1024;
constexpr std::size_t kMaxBytes = std::size_t{64} << 20;
constexpr int kEventsBetweenLooks = 512;

StepId first_kept(StepId step) { return StepId{raw(step) > kFramesBefore ? raw(step) - kFramesBefore : 1}; }

}  // namespace

StepPlayer::StepPlayer(MakeRun make_run, ReplicaId replica, RuleNames rules)
    : make_run_(std::move(make_run)), replica_(replica), rules_(std::move(rules)) {
  restart();
}

void StepPlayer::restart() {
  auto watch = std::make_unique<FrameWatch>(replica_, rules_);
  run_ = make_run_({watch.get()});
  watch_ = std::move(watch);
  watch_->watch(run_->cluster());
  begun_ = over_ = false;
  counted_ = StepId{0};
  bytes_ = 0;
}

const StepFrame* StepPlayer::find(StepId step) {
  const auto& frames = watch_->frames();
  if (frames.empty() || step < frames.front().step || step > frames.back().step) return nullptr;
  return &frames[raw(step) - raw(frames.front().step)];
}

const StepFrame* StepPlayer::seek(StepId step, const GoOn& go_on) {
  if (end_) step = std::min(step, end_->last);
  const StepFrame* found = find(step);
  if (found != nullptr && (found->ended != kTimeNever || over_)) return found;
  const bool near = !watch_->frames().empty() && raw(step) <= raw(watch_->last_step()) + kFramesBefore;
  if (found == nullptr && (step <= watch_->last_step() || !near)) {
    const StepId first = first_kept(step);
    if (begun_ && first <= next(watch_->last_step())) restart();
    watch_->frames().clear();
    watch_->start_at(first);
    bytes_ = 0;
  }
  if (!run_until(step, go_on)) return nullptr;
  if (const StepFrame* frame = find(step)) return frame;
  // The run has fewer steps than were asked for, and now it is known how many.
  return raw(end_->last) == 0 ? nullptr : seek(end_->last, go_on);
}

bool StepPlayer::finish(const GoOn& go_on) {
  watch_->frames().clear();
  watch_->start_at(kLastStep);
  bytes_ = 0;
  return run_until(kLastStep, go_on);
}

bool StepPlayer::run_until(StepId step, const GoOn& go_on) {
  StampedEvent event;
  for (int events = 1; !over_ && watch_->last_ended() < step; ++events) {
    if (events % kEventsBetweenLooks == 0 && !go_on(watch_->last_step())) return false;
    begun_ = true;
    over_ = !run_->backend().next(event);
    if (!over_) run_->cluster().handle(event, run_->backend());
    trim(step);
  }
  if (over_)
    end_ = RunEnd{watch_->last_step(), run_->digests(), run_->trouble(), run_->difference().has_value()};
  return true;
}

void StepPlayer::trim(StepId needed) {
  auto& frames = watch_->frames();
  if (frames.empty() || frames.back().step == counted_) return;
  counted_ = frames.back().step;
  bytes_ += frames.back().bytes();
  while (frames.front().step < needed && (frames.size() > kMaxFrames || bytes_ > kMaxBytes)) {
    bytes_ -= std::min(bytes_, frames.front().bytes());
    frames.pop_front();
  }
}

}  // namespace servetwin
