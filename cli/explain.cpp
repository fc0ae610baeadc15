// explain: why a step cost what it did, why a request was or was not in it, and what an error code means.
#include "cli/explain.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

#include "engine/base/text.h"
#include "engine/base/unit_text.h"
#include "scenarios/error_codes.h"

namespace servetwin {
namespace {

constexpr const char* kForms =
    "servetwin explain: write `explain RUN step N`, `explain RUN request R`, `explain RUN request R step N` "
    "or "
    "`explain CODE`";

std::int64_t number(const std::string& text, const char* what, std::int64_t most) {
  const Parsed<std::int64_t> parsed = parse_integer(text);
  if (parsed && *parsed.value >= 0 && *parsed.value <= most) return *parsed.value;
  throw UsageError("servetwin explain: " + text + " is no " + what + " number");
}

StepId step_of(const std::string& text) {
  return StepId{static_cast<std::uint64_t>(number(text, "step", std::numeric_limits<std::int64_t>::max()))};
}

class Explain final : public Verb {
 public:
  using Verb::Verb;

  void declare(Arguments& arguments) override {
    arguments.words(
        "WHAT", words_,
        "RUN step N: a step's cost, batch and who waits. RUN request R [step N]: a request's life, or why "
        "it was or was not scheduled. CODE: an error code.");
    arguments.option("--replica", "R", replica_, "With step: the replica, by default 0.");
    arguments.flag("--json", json_, kJsonHelp);
  }

  ExitCode run(Terminal& terminal) override {
    if (words_.size() == 1) return code(terminal);
    if (words_.size() == 3 && words_[1] == "step") {
      const auto replica = static_cast<std::uint16_t>(number(replica_, "replica", 65'534));
      return explain_step(words_[0], step_of(words_[2]), ReplicaId{replica}, {terminal, json_});
    }
    const bool asks_step = words_.size() == 5 && words_[3] == "step";
    if ((words_.size() != 3 && !asks_step) || words_[1] != "request") throw UsageError(kForms);
    const RequestId request{static_cast<std::uint32_t>(number(words_[2], "request", raw(kNoRequest) - 1))};
    return explain_request(words_[0], request, asks_step ? std::optional(step_of(words_[4])) : std::nullopt,
                           {terminal, json_});
  }

 private:
  ExitCode code(Terminal& terminal) const {
    const ErrorPage* page = find_error_page(words_[0]);
    if (page == nullptr) {
      std::vector<std::string> codes;
      for (const ErrorPage& known : error_pages()) codes.emplace_back(known.code);
      throw UsageError("servetwin explain: no error code " + words_[0] + suggestion(words_[0], codes) + "; " +
                       std::string(kForms).substr(19));
    }
    const nlohmann::ordered_json json = {{"code", page->code},
                                         {"title", page->title},
                                         {"explanation", page->explanation},
                                         {"example", page->example}};
    terminal.out(json_ ? json.dump(2) + '\n' : to_text(*page));
    return ExitCode::kOk;
  }

  std::vector<std::string> words_;
  std::string replica_ = "0";
  bool json_ = false;
};

const Registered<Verb, Explain> kExplain{"explain", "Explains a step, a request's wait, or an error code."};

}  // namespace
}  // namespace servetwin
