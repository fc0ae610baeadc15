// replay: gives a journal's events to the core again and compares both digests.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/rerun.h"
#include "cli/verb.h"
#include "engine/base/digest.h"
#include "engine/base/text.h"

namespace servetwin {
namespace {

using Json = nlohmann::ordered_json;

class Replay final : public Verb {
 public:
  using Verb::Verb;

  void declare(Arguments& arguments) override {
    arguments.word("JOURNAL", path_, "A journal, or the folder of a run that has one.");
    arguments.flag("--json", json_, kJsonHelp);
  }

  ExitCode run(Terminal& terminal) override {
    JournalReader reader(journal_of(path_));
    const std::unique_ptr<Rerun> rerun = replay_journal(reader, {});
    serve(rerun->cluster(), rerun->backend());
    Result result;
    result.journal = reader.name();
    result.events = static_cast<std::int64_t>(rerun->cluster().num_events());
    result.difference = rerun->difference();
    if (reader.footer()) result.recorded = {reader.footer()->decisions, reader.footer()->timeline};
    result.replayed = rerun->digests();
    terminal.out(json_ ? json(result) : text(result));
    terminal.flush();
    if (const auto cut = rerun->cut()) throw ConfigError(*cut);
    const std::string trouble = rerun->trouble();
    if (!result.difference && !trouble.empty()) terminal.err("note: " + trouble + '\n');
    return result.is_equal() ? ExitCode::kOk : ExitCode::kVerdictFailed;
  }

 private:
  struct Result {
    std::string journal;
    std::int64_t events = 0;
    std::optional<std::string> difference;
    std::optional<RunDigests> recorded;  // nothing when the end was not reached
    RunDigests replayed;

    bool is_equal() const { return !difference && recorded == replayed; }
  };

  static std::string row(const char* name, std::uint64_t recorded, std::uint64_t replayed) {
    return fmt::format("  {:<10} recorded {}  replayed {}  {}\n", name, to_hex(recorded), to_hex(replayed),
                       recorded == replayed ? "equal" : "different");
  }

  static std::string text(const Result& result) {
    std::string out = fmt::format("{}: {} events replayed\n", result.journal, format_grouped(result.events));
    if (result.difference) out += "first difference: " + *result.difference + '\n';
    if (!result.recorded) return out + "the end was not reached, so there are no digests to compare\n";
    return out + row("decisions", result.recorded->decisions, result.replayed.decisions) +
           row("timeline", result.recorded->timeline, result.replayed.timeline);
  }

  static std::string json(const Result& result) {
    const auto digests = [](const RunDigests& of) {
      return Json{{"decisions", to_hex(of.decisions)}, {"timeline", to_hex(of.timeline)}};
    };
    Json out = {{"journal", result.journal}, {"events", result.events}, {"equal", result.is_equal()}};
    out["recorded"] = result.recorded ? digests(*result.recorded) : Json(nullptr);
    out["replayed"] = digests(result.replayed);
    out["first_difference"] = result.difference ? Json(*result.difference) : Json(nullptr);
    return out.dump(2) + '\n';
  }

  std::string path_;
  bool json_ = false;
};

const Registered<Verb, Replay> kReplay{
    "replay", "Replays a journal and compares its decisions with the recorded ones."};

}  // namespace
}  // namespace servetwin
