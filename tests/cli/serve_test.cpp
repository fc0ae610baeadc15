// If these fail, a served session cannot be looked at afterwards: its files are missing or say something
// else.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/cli/program.h"
#include "tests/support/catch.h"

namespace servetwin::test {
namespace {

// Two answers, then a signal.
std::string session(const std::string& what) {
  return "$S serve " + what +
         " --served-model-name m --port 0 --out d > out & pid=$!; "
         "for i in $(seq 400); do grep -q listening out && break; sleep 0.05; done; "
         "url=$(sed -n 's/^listening on //p' out); for i in 1 2; do "
         "curl -sf $url/v1/completions -H 'Content-Type: application/json' "
         "-d '{\"model\": \"m\", \"prompt\": \"Hello there\", \"max_tokens\": 3}' > answer || exit 9; done; "
         "kill $pid; wait $pid";
}

TEST_CASE("a served session leaves its requests, steps and timeline, simulated or real") {
  for (const char* what : {"--simulate tiny.yaml", "--model servetwin/tiny-llama-random --kv-memory 4MiB"}) {
    CAPTURE(what);
    const Playground ground;
    write_tiny(ground);
    CHECK(ground.run(session(what)).code == 0);
    CHECK(contains(ground.read("out"), "d/timeline.json"));
    const std::string requests = ground.read("d/requests.csv");
    CHECK(std::count(requests.begin(), requests.end(), '\n') == 3);
    const std::string steps = ground.read("d/steps.csv");
    CHECK(std::count(steps.begin(), steps.end(), '\n') > 2);
    const auto timeline = nlohmann::json::parse(ground.read("d/timeline.json"));
    int begun = 0;
    for (const auto& event : timeline["traceEvents"]) begun += event.value("ph", "") == "b" ? 1 : 0;
    CHECK(begun >= 2);                           // a span for each request
    CHECK(ground.run(session(what)).code != 0);  // the folder holds a session already
  }
}

}  // namespace
}  // namespace servetwin::test
