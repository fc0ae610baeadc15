// If these fail, a server whose model is split over ranks says something else, or leaves its clients waiting
// when a rank fails.
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "tests/http/live_rig.h"
#include "tests/support/catch.h"

namespace servetwin::test::live_ranks_test {
namespace {

TEST_CASE("a server on several ranks says what it says on one") {
  const LiveRig one("one_rank");
  const std::string text = one.text(text_call("Once upon", 30));
  CHECK(one.engine().ranks_text().empty());
  for (const int ranks : {2, 4}) {
    for (const bool sequence_parallel : {false, true}) {
      const LiveRig rig("ranks", kTemplate, [&](LiveEngineOptions& options) {
        options.ranks = ranks;
        options.layout.sequence_parallel = sequence_parallel;
      });
      CHECK(rig.text(text_call("Once upon", 30)) == text);
      CHECK(rig.engine().ranks_text().find("each of " + std::to_string(ranks) + " ranks: ") == 0);
    }
  }
}

TEST_CASE("when a rank fails, answers end as failed, nobody is let in, and the engine says why") {
  const LiveRig rig("failing", kTemplate, [](LiveEngineOptions& options) {
    options.ranks = 2;
    options.on_rank_step = [](int rank, StepId step) {
      if (rank == 1 && raw(step) == 3) throw std::runtime_error("gone");
    };
  });
  CHECK(rig.engine().failure().empty());
  const Reply first = rig.ask("/v1/completions", text_call("Once upon", 30));
  CHECK(first.status == 500);
  CHECK(first.body.find("the request failed in the engine") != std::string::npos);
  CHECK(rig.engine().failure() == "M: rank 1 of 2 failed in step 3: gone");
  CHECK(rig.ask("/v1/completions", text_call("Once upon", 30)).status >= 429);
}

TEST_CASE("a model that ranks cannot split is not served") {
  CHECK_THROWS_AS(LiveRig("uneven", kTemplate, [](LiveEngineOptions& options) { options.ranks = 3; }),
                  ConfigError);
}

}  // namespace
}  // namespace servetwin::test::live_ranks_test
