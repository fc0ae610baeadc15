// step: the steps of a run one by one, on the terminal by keys or printed.
#include <fmt/format.h>
#include <limits>
#include <optional>
#include <vector>

#include "cli/explain.h"
#include "cli/shown_run.h"
#include "cli/step_viewer.h"
#include "engine/base/text.h"
#include "engine/base/unit_text.h"

namespace servetwin {
namespace {

class Step final : public Verb {
 public:
  using Verb::Verb;

  void declare(Arguments& arguments) override {
    arguments.word("SCENARIO", name_, "A scenario, the folder of a run, or a journal.");
    arguments.repeated("--set", "KEY=VALUE", overrides_.set,
                       "Sets one value of a scenario, such as engine.max_num_seqs=64.");
    arguments.option("--replica", "R", replica_, "The replica, by default 0.");
    arguments.option("--follow", "R", follow_, "Marks that request wherever it is.");
    arguments.option("--at", "N", at_, "Prints step N.");
    arguments.option("--from", "N", from_, "Prints the steps from N on.");
    arguments.option("--to", "N", to_, "Prints the steps up to N.");
    arguments.option("--width", "COLUMNS", width_, "Of what is printed, by default 80.");
    arguments.option("--height", "LINES", height_,
                     "Of each printed step at most, by default as many as it takes.");
  }

  ExitCode run(Terminal& terminal) override {
    const bool prints = !at_.empty() || !from_.empty() || !to_.empty();
    if (!at_.empty() && (!from_.empty() || !to_.empty()))
      throw UsageError("servetwin step: --at N is one step, --from N and --to N are several");
    if (!prints && !Screen::available())
      throw UsageError("servetwin step: there is no terminal to draw on; --at N prints a step");
    const ShownRun shown = open_run(name_, overrides_);
    const ScenarioSpec& spec = shown.scenario.spec();
    const std::uint64_t replica = number(replica_, "--replica", 0, 0);
    if (replica >= static_cast<std::uint64_t>(spec.replicas))
      throw UsageError(
          fmt::format("servetwin step: replica {} of {}, counted from 0", replica, spec.replicas));
    const std::uint64_t followed = number(follow_, "--follow", 0, raw(kNoRequest));
    const RequestId request{static_cast<std::uint32_t>(std::min<std::uint64_t>(followed, raw(kNoRequest)))};
    StepPlayer player([&](std::vector<Observer*> observers) { return shown.make(std::move(observers)); },
                      ReplicaId{static_cast<std::uint16_t>(replica)}, spec.engine.rules);
    return prints ? print(shown, player, request, terminal) : view(shown, player, request, terminal);
  }

 private:
  static std::uint64_t number(const std::string& text,
                              const char* option,
                              std::int64_t least,
                              std::uint64_t otherwise) {
    if (text.empty()) return otherwise;
    const Parsed<std::int64_t> parsed = parse_integer(text);
    if (parsed && *parsed.value >= least) return static_cast<std::uint64_t>(*parsed.value);
    throw UsageError(
        fmt::format("servetwin step: {} takes a number from {} on, not {}", option, least, text));
  }

  ExitCode print(const ShownRun& shown, StepPlayer& player, RequestId followed, Terminal& terminal) const {
    const StepId first{number(at_.empty() ? from_ : at_, at_.empty() ? "--from" : "--at", 1, 1)};
    const StepId last{at_.empty() ? number(to_, "--to", 1, raw(kLastStep)) : raw(first)};
    if (last < first) throw UsageError("servetwin step: --to comes before --from");
    StepView view;
    view.width = number(width_, "--width", 1, view.width);
    view.height = number(height_, "--height", 1, view.height);
    view.followed = followed;
    const StepPlayer::GoOn go_on = [&](StepId reached) {
      terminal.progress(fmt::format("step {} on the way to {}", raw(reached), raw(first)));
      return true;
    };
    for (StepId step = first; step <= last; step = next(step)) {
      const StepFrame* frame = player.seek(step, go_on);
      if (frame == nullptr || frame->step != step) break;
      if (step == first) terminal.progress("");
      if (step != first) terminal.out("\n");
      for (const StyledLine& line : lines_of(*frame, view))
        terminal.out(to_text(line, terminal.styles()) + '\n');
    }
    if (player.end() && player.end()->last < first) {
      throw UsageError(fmt::format("servetwin step: the replica has {} steps, and no step {}",
                                   raw(player.end()->last), raw(first)));
    }
    return confirm(shown, player, terminal);
  }

  // Prints what the run is, where there is one to compare with.
  static ExitCode confirm(const ShownRun& shown, StepPlayer& player, Terminal& terminal) {
    if (shown.folder.empty() && shown.journal.empty()) return ExitCode::kOk;
    player.finish([](StepId) { return true; });
    terminal.progress("");
    const RunEnd& end = *player.end();
    if (!end.trouble.empty()) terminal.err("note: " + end.trouble + '\n');
    if (shown.folder.empty()) return end.differs ? ExitCode::kVerdictFailed : ExitCode::kOk;
    const Confirmation confirmation = confirm_digests(shown.folder, end.digests);
    terminal.out("\n");
    confirmation.print({terminal, false});
    return confirmation.code();
  }

  static ExitCode view(const ShownRun& shown, StepPlayer& player, RequestId followed, Terminal& terminal) {
    ExitCode verdict = ExitCode::kOk;
    const auto say = [&](const RunEnd& end) {
      if (!end.trouble.empty()) return "note: " + end.trouble;
      if (shown.folder.empty()) return fmt::format("the last step is {}", raw(end.last));
      const Confirmation confirmation = confirm_digests(shown.folder, end.digests);
      verdict = confirmation.code();
      return confirmation.text.substr(0, confirmation.text.find('\n'));
    };
    ExitCode code = ExitCode::kOk;
    {
      StepViewer viewer(player, terminal, say);
      code = viewer.run(followed);
    }
    if (code == ExitCode::kBadInput) throw UsageError("servetwin step: the replica has no step");
    return code == ExitCode::kOk ? verdict : code;
  }

  std::string name_;
  ScenarioOverrides overrides_;
  std::string replica_;
  std::string follow_;
  std::string at_;
  std::string from_;
  std::string to_;
  std::string width_;
  std::string height_;
};

const Registered<Verb, Step> kStep{"step", "Shows a run step by step: batch, queue, KV blocks, events."};

}  // namespace
}  // namespace servetwin
