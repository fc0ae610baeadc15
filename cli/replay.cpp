// replay: gives a journal's events to the core again and compares both digests.
#include <filesystem>
#include <fmt/format.h>

#include "cli/rerun.h"
#include "cli/verb.h"
#include "engine/base/digest.h"
#include "engine/base/text.h"

namespace servetwin {
namespace {

class Replay final : public Verb {
 public:
  using Verb::Verb;

  void declare(Arguments& arguments) override {
    arguments.word("JOURNAL", path_, "A journal, or the folder of a run that has one.");
  }

  ExitCode run(Terminal& terminal) override {
    std::error_code failed;
    if (std::filesystem::is_directory(path_, failed)) path_ = run_file(path_, "journal.jsonl.zst");
    JournalReader reader(path_);
    const std::unique_ptr<Rerun> rerun = replay_journal(reader, {});
    serve(rerun->cluster(), rerun->backend());
    terminal.out(fmt::format("{}: {} events replayed\n", path_,
                             format_grouped(static_cast<std::int64_t>(rerun->cluster().num_events()))));
    const std::string trouble = rerun->trouble();
    if (!trouble.empty()) terminal.out("first difference: " + trouble + '\n');
    if (!reader.footer()) {
      terminal.out("the end was not reached, so there are no digests to compare\n");
      return ExitCode::kVerdictFailed;
    }
    const RunDigests recorded{reader.footer()->decisions, reader.footer()->timeline};
    const RunDigests replayed = rerun->digests();
    print("decisions", recorded.decisions, replayed.decisions, terminal);
    print("timeline", recorded.timeline, replayed.timeline, terminal);
    return recorded == replayed ? ExitCode::kOk : ExitCode::kVerdictFailed;
  }

 private:
  static void print(const char* name, std::uint64_t recorded, std::uint64_t replayed, Terminal& terminal) {
    terminal.out(fmt::format("  {:<10} recorded {}  replayed {}  {}\n", name, to_hex(recorded),
                             to_hex(replayed), recorded == replayed ? "equal" : "different"));
  }

  std::string path_;
};

const Registered<Verb, Replay> kReplay{
    "replay", "Replays a journal and compares its decisions with the recorded ones."};

}  // namespace
}  // namespace servetwin
