// Drives one GoldenDriver by hand, a step at a time, with steps of 10 ms; outcomes are read as short texts.
#pragma once

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/base/check.h"
#include "tests/support/catch.h"
#include "tests/support/golden_scenario.h"

namespace servetwin {

struct GoldenKind {
  const char* name;
  std::unique_ptr<GoldenDriver> (*make)(const GoldenSetup&);
};

template <bool plain>
std::unique_ptr<GoldenDriver> make_core(const GoldenSetup& setup) {
  GoldenSetup chosen = setup;
  chosen.engine.plain_loop = plain;
  return make_core_driver(chosen);
}

// All implementations that must give the stated outcomes. A broken invariant fails its case, not the program.
inline const std::vector<GoldenKind>& golden_kinds() {
  set_check_handler([](const std::string& message) { throw std::runtime_error(message); });
  static const std::vector<GoldenKind> kinds{{"oracle", make_naive_driver},
                                             {"core, plain loop", make_core<true>},
                                             {"core with the shortcut", make_core<false>}};
  return kinds;
}

// A setup with room for everything; cases narrow what they are about.
inline GoldenSetup roomy_setup() {
  GoldenSetup setup;
  setup.engine.max_num_batched_tokens = Tokens{8192};
  setup.engine.max_num_seqs = 256;
  setup.engine.max_model_len = Tokens{100000};
  setup.engine.num_blocks = Blocks{10000};
  return setup;
}

inline RequestSpec request(std::uint32_t id, std::int64_t prompt, std::int64_t max_tokens = 1000) {
  RequestSpec spec;
  spec.id = RequestId{id};
  spec.prompt = Tokens{prompt};
  spec.max_tokens = Tokens{max_tokens};
  return spec;
}

// A prompt made of the first `length` tokens of each named stream.
inline RequestSpec request_of(std::uint32_t id,
                              std::vector<ContentSegment> content,
                              std::int64_t max_tokens = 1000) {
  RequestSpec spec = request(id, 0, max_tokens);
  for (const ContentSegment& segment : content) spec.prompt += segment.length;
  spec.content = std::move(content);
  return spec;
}

class GoldenRig {
 public:
  GoldenRig(const GoldenKind& kind, const GoldenSetup& setup) : driver_(kind.make(setup)) {}

  GoldenDriver& driver() { return *driver_; }
  const StepTrace& last() const { return last_; }

  void arrive(RequestSpec spec) {
    if (spec.arrival == kTimeZero) spec.arrival = now_;
    driver_->arrive(spec);
  }

  // Starts a step and leaves it in flight: what it computes, or "" if none was started.
  std::string plan() {
    const std::optional<StepTrace> step = driver_->plan();
    if (!step) return "";
    last_ = *step;
    return to_text(last_.tokens);
  }

  void finish(std::int64_t step, const std::vector<RequestId>& stops = {}) {
    now_ += std::chrono::milliseconds(10);
    driver_->advance_to(now_);
    driver_->finish_step(step, stops, false);
  }

  // Plans a step and lets it come back.
  std::string step(const std::vector<RequestId>& stops = {}) {
    const std::string tokens = plan();
    if (!tokens.empty()) finish(last_.step, stops);
    return tokens;
  }

  std::string hits() const { return to_text(last_.admitted); }
  std::string preempted() const { return to_text(last_.preempted); }

  std::string ends() {
    std::string text;
    for (const EndTrace& end : driver_->take_ends()) {
      text += std::to_string(raw(end.request)) + ":" + to_string(end.state) + ":" +
              std::to_string(end.outputs) + " ";
    }
    if (!text.empty()) text.pop_back();
    return text;
  }

 private:
  std::unique_ptr<GoldenDriver> driver_;
  Time now_ = kTimeZero;
  StepTrace last_;
};

// Runs a case on every implementation.
inline void on_each(const GoldenSetup& setup, const std::function<void(GoldenRig&)>& body) {
  for (const GoldenKind& kind : golden_kinds()) {
    INFO("on the " << kind.name);
    GoldenRig rig(kind, setup);
    body(rig);
  }
}

}  // namespace servetwin
