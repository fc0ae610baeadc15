// Powers of two along each axis, cut off where a limit says so.
#include "calibrate/endpoint/load_plan.h"

#include <algorithm>
#include <array>

namespace servetwin {
namespace {

constexpr std::int64_t kShortPrompt = 16;
constexpr std::int64_t kOutput = 24;        // tokens in which a step's time shows
constexpr std::int64_t kLongOutput = 96;    // context grows within one answer
constexpr std::int64_t kTokensAStep = 256;  // prompts of a wave are computed in steps of at least so many

std::vector<std::int64_t> powers(std::int64_t from, std::int64_t to, std::int64_t factor) {
  std::vector<std::int64_t> all;
  for (std::int64_t value = from; value <= to; value *= factor) all.push_back(value);
  return all;
}

// Requests that start together decode together once the last prompt is computed: the others wait so long.
std::int64_t wave_output(std::int64_t requests, std::int64_t prompt) {
  return kOutput + (requests - 1) * prompt / kTokensAStep + std::min<std::int64_t>(requests - 1, 16);
}

class Sweep {
 public:
  explicit Sweep(const LoadSpace& space) : space_(space) {}

  std::vector<LoadPoint> points() {
    const std::int64_t longest = std::min(space_.max_prompt, space_.max_model_len - kOutput);
    for (const std::int64_t prompt : powers(kShortPrompt, longest, 2))
      add({LoadPhase::kPrompt, 1, prompt, kOutput, 0});
    add({LoadPhase::kPrompt, 1, kShortPrompt, kLongOutput, 0});
    for (const std::int64_t requests : powers(2, space_.max_concurrency, 2)) {
      add(wave(requests, kShortPrompt));
      const std::int64_t room = space_.max_resident / requests - 2 * kOutput;
      add(wave(requests, std::min({space_.max_model_len / 2, room, std::int64_t{2048}})));
    }
    for (const std::int64_t requests : {1, 4, 16}) {
      for (const std::int64_t joins : {32, 128, 256, 512}) {
        if (requests <= space_.max_concurrency && joins + kOutput <= space_.max_model_len)
          add({LoadPhase::kMixed, requests, kShortPrompt, kOutput + requests, joins});
      }
    }
    return in_turns();
  }

 private:
  // One of each phase after the other, so that a short time has seen all of them.
  std::vector<LoadPoint> in_turns() const {
    std::array<std::vector<LoadPoint>, 3> phases;
    for (const LoadPoint& point : points_) phases[static_cast<std::size_t>(point.phase)].push_back(point);
    std::vector<LoadPoint> all;
    for (std::size_t i = 0; all.size() < points_.size(); ++i) {
      for (const std::vector<LoadPoint>& phase : phases) {
        if (i < phase.size()) all.push_back(phase[i]);
      }
    }
    return all;
  }

  static LoadPoint wave(std::int64_t requests, std::int64_t prompt) {
    return {LoadPhase::kDecode, requests, prompt, wave_output(requests, prompt), 0};
  }

  void add(const LoadPoint& point) {
    const bool fits = point.prompt > 0 && point.prompt + point.output <= space_.max_model_len &&
                      point.requests * (point.prompt + point.output) + point.joins <= space_.max_resident;
    const bool is_new = std::find(points_.begin(), points_.end(), point) == points_.end();
    if (fits && is_new) points_.push_back(point);
  }

  LoadSpace space_;
  std::vector<LoadPoint> points_;
};

}  // namespace

const char* to_string(LoadPhase phase) {
  constexpr std::array<const char*, 4> kNames{"prompt", "decode", "mixed", "capacity"};
  return kNames[static_cast<std::size_t>(phase)];
}

std::int64_t number_of(const LoadPoint& point) {
  constexpr std::int64_t kPrompts = 1 << 21;
  constexpr std::int64_t kRequests = 1 << 11;
  constexpr std::int64_t kJoins = 1 << 5;  // in steps of 32
  constexpr std::int64_t kOutputs = 1 << 10;
  std::int64_t number = point.output % kOutputs;
  number = number * kJoins + point.joins / 32 % kJoins;
  number = number * kRequests + point.requests % kRequests;
  number = number * kPrompts + point.prompt % kPrompts;
  return number * 4 + static_cast<std::int64_t>(point.phase);
}

std::vector<LoadPoint> load_sweep(const LoadSpace& space) { return Sweep(space).points(); }

}  // namespace servetwin
