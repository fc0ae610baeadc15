// The frame on the screen is a copy: whatever becomes of a way to another step, it can be drawn again.
#include "cli/step_viewer.h"

#include <algorithm>
#include <csignal>
#include <fmt/format.h>
#include <utility>

#include "engine/base/text.h"

namespace servetwin {
namespace {

constexpr std::uint64_t kProgressEvery = 500;  // steps
constexpr std::int64_t kPage = 10;
constexpr std::size_t kMaxDigits = 15;

constexpr const char* kKeys = "arrows: step, request  g: go to  f: follow  n p: change  ?: help  q: quit";

const char* const kHelpLines[] = {
    "right l space    the next step",
    "left h           the step before",
    "page down, up    ten steps on, ten steps back",
    "home end         the first step, the last one",
    "g NUMBER enter   that step; on the way any key gives up",
    "down j, up k     follow the next request of the step, the one before",
    "f NUMBER enter   follow that request",
    "u                follow nobody",
    "n p              the next step, or the one before, in which something",
    "                 else becomes of who is followed",
    "?                these keys; any key goes back",
    "q                quit",
    "",
    "tokens           computed in the step, of max_num_batched_tokens",
    "shared           KV blocks of the request that others hold too",
    "map              the letter of the KV blocks that the request has computed",
};

// What must differ for a step to be another change: not the counts, which differ in every step.
std::string kind_of(const StepFrame& frame, RequestId request) {
  const std::string text = frame.becomes_of(request);
  return text.substr(0, text.find_first_of(",:", text.rfind("waiting,", 0) == 0 ? 9 : 0));
}

}  // namespace

StepViewer::StepViewer(StepPlayer& player, const Terminal& terminal, Verdict verdict)
    : player_(player), styles_(terminal.styles()), verdict_(std::move(verdict)) {}

ExitCode StepViewer::run(RequestId followed) {
  followed_ = followed;
  if (!go_to(StepId{1}) && !quits_) return ExitCode::kBadInput;
  while (!quits_) {
    draw();
    on_key(screen_.wait(-1));
  }
  return stopped_ ? static_cast<ExitCode>(128 + screen_.stop_signal()) : ExitCode::kOk;
}

std::string StepViewer::last_line() const {
  if (mode_ == Mode::kAskStep) return "go to step: " + typed_ + '_';
  if (mode_ == Mode::kAskRequest) return "follow request: " + typed_ + '_';
  return message_.empty() ? kKeys : message_;
}

void StepViewer::draw() {
  const Screen::Size size = screen_.size();
  std::vector<StyledLine> lines;
  if (mode_ == Mode::kHelp) {
    lines.push_back({{"keys", TextStyle::kTitle}});
    for (const char* line : kHelpLines) lines.push_back({{line}});
  } else {
    StepView view;
    view.width = size.width;
    view.height = std::max<std::size_t>(size.height - 1, 1);
    view.followed = followed_;
    if (player_.end()) view.last = player_.end()->last;
    lines = lines_of(frame_, view);
  }
  lines.resize(size.height - 1);
  lines.push_back({{last_line(), TextStyle::kTitle}});
  screen_.draw(lines, styles_);
}

void StepViewer::draw_progress(StepId reached, StepId target) {
  const std::string to =
      target == kLastStep ? "the end" : format_grouped(static_cast<std::int64_t>(raw(target)));
  message_ = fmt::format("step {} on the way to {}; any key gives up",
                         format_grouped(static_cast<std::int64_t>(raw(reached))), to);
  draw();
  message_.clear();
}

// On the way to a step: whether to go on.
bool StepViewer::look_up_from_work(StepId reached, StepId target) {
  if (raw(reached) >= raw(drawn_at_) + kProgressEvery || reached < drawn_at_) {
    draw_progress(reached, target);
    drawn_at_ = reached;
  }
  const KeyPress press = screen_.wait(0);
  if (press.key == Key::kNone || press.key == Key::kRedraw) return true;
  message_ = fmt::format("given up at step {}", format_grouped(static_cast<std::int64_t>(raw(reached))));
  if (press.key == Key::kStopped) quits_ = stopped_ = true;
  return false;
}

// False when there is none, or it was given up.
bool StepViewer::go_to(StepId step) {
  drawn_at_ = StepId{0};
  const StepFrame* frame =
      player_.seek(step, [&](StepId reached) { return look_up_from_work(reached, step); });
  if (frame == nullptr) return false;
  frame_ = *frame;
  if (player_.end() && !told_end_) {
    told_end_ = true;
    message_ = verdict_(*player_.end());
  }
  return true;
}

void StepViewer::move(std::int64_t steps) {
  const auto now = static_cast<std::int64_t>(raw(frame_.step));
  go_to(StepId{static_cast<std::uint64_t>(std::max<std::int64_t>(now + steps, 1))});
}

void StepViewer::go_to_change(bool forwards) {
  if (followed_ == kNoRequest) {
    message_ = "nobody is followed: f NUMBER, or up and down";
    return;
  }
  const std::string before = kind_of(frame_, followed_);
  while (!quits_ && kind_of(frame_, followed_) == before) {
    const StepId step = frame_.step;
    if (!forwards && raw(step) == 1) return;
    if (!go_to(StepId{forwards ? raw(step) + 1 : raw(step) - 1})) return;
    if (frame_.step == step) return;  // the last one
    if (raw(frame_.step) % kProgressEvery == 0) draw();
    const Key key = screen_.wait(0).key;
    if (key == Key::kStopped) quits_ = stopped_ = true;
    if (key != Key::kNone && key != Key::kRedraw) return;
  }
}

// Those of the frame in the order in which they are shown.
void StepViewer::follow_next(bool down) {
  std::vector<RequestId> shown;
  for (const FrameRow& row : frame_.rows) shown.push_back(row.request);
  for (const FrameHeld& one : frame_.held) shown.push_back(one.held.request);
  if (shown.empty()) return;
  const auto at = std::find(shown.begin(), shown.end(), followed_);
  if (at == shown.end()) {
    followed_ = down ? shown.front() : shown.back();
  } else if (down) {
    followed_ = at + 1 == shown.end() ? *at : *(at + 1);
  } else {
    followed_ = at == shown.begin() ? *at : *(at - 1);
  }
}

void StepViewer::on_key(const KeyPress& press) {
  if (press.key == Key::kStopped) {
    quits_ = stopped_ = true;
    return;
  }
  if (press.key == Key::kNone || press.key == Key::kRedraw) return;
  message_.clear();
  if (mode_ == Mode::kHelp) {
    mode_ = Mode::kSteps;
  } else if (mode_ == Mode::kSteps) {
    on_step_key(press);
  } else {
    on_number_key(press);
  }
}

void StepViewer::on_step_key(const KeyPress& press) {
  switch (press.key) {
    case Key::kRight:
      return move(1);
    case Key::kLeft:
      return move(-1);
    case Key::kPageDown:
      return move(kPage);
    case Key::kPageUp:
      return move(-kPage);
    case Key::kHome:
      go_to(StepId{1});
      return;
    case Key::kEnd:
      go_to(kLastStep);
      return;
    case Key::kDown:
      return follow_next(true);
    case Key::kUp:
      return follow_next(false);
    case Key::kCharacter:
      return on_letter(press.character);
    default:
      return;
  }
}

void StepViewer::on_letter(char letter) {
  switch (letter) {
    case 'l':
    case ' ':
      return move(1);
    case 'h':
      return move(-1);
    case 'j':
      return follow_next(true);
    case 'k':
      return follow_next(false);
    case 'n':
    case 'p':
      return go_to_change(letter == 'n');
    case 'u':
      followed_ = kNoRequest;
      return;
    case 'g':
    case 'f':
      mode_ = letter == 'g' ? Mode::kAskStep : Mode::kAskRequest;
      typed_.clear();
      return;
    case '?':
      mode_ = Mode::kHelp;
      return;
    case 'q':
      quits_ = true;
      return;
    default:
      message_ = "that key does nothing; ? shows those that do";
  }
}

void StepViewer::on_number_key(const KeyPress& press) {
  const bool is_digit = press.key == Key::kCharacter && press.character >= '0' && press.character <= '9';
  if (is_digit && typed_.size() < kMaxDigits) typed_ += press.character;
  if (press.key == Key::kBackspace && !typed_.empty()) typed_.pop_back();
  if (press.key == Key::kEscape) mode_ = Mode::kSteps;
  if (press.key != Key::kEnter) return;
  const Mode asked = std::exchange(mode_, Mode::kSteps);
  if (typed_.empty()) return;
  const std::uint64_t number = std::stoull(typed_);
  if (asked == Mode::kAskRequest) {
    followed_ = RequestId{static_cast<std::uint32_t>(std::min<std::uint64_t>(number, raw(kNoRequest)))};
  } else {
    go_to(StepId{std::max<std::uint64_t>(number, 1)});
  }
}

}  // namespace servetwin
