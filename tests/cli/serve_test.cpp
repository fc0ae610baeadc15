// If these fail, the server cannot be started, reached or ended from the command line as documented.
#include <nlohmann/json.hpp>

#include "tests/cli/program.h"
#include "tests/support/catch.h"

namespace servetwin::test {
namespace {

// A shell line that starts the server on a free port, waits for it, and leaves its address in $U and its
// process in $P.
std::string started(const std::string& options) {
  return "$S serve --simulate quickstart --port 0 " + options +
         " >address & P=$!; while ! grep -q http address; do sleep 0.05; done; U=$(sed 's/.* //' address); ";
}

const std::string kCall =
    "curl -s $U/v1/completions -H 'Content-Type: application/json' -H 'traceparent: "
    "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' -d '{\"model\": \"twin\", \"prompt\": "
    "\"Hello\", "
    "\"max_tokens\": 20, \"ignore_eos\": true}'";

TEST_CASE("a server answers, logs a line of JSON a request, and ends with 0 when it is told to") {
  const Playground ground;
  const Outcome outcome =
      ground.run(started("--served-model-name twin --log-json") + kCall + "; kill $P; wait $P");
  CHECK(outcome.code == 0);
  const auto answer = nlohmann::json::parse(outcome.out);
  CHECK(answer["usage"]["completion_tokens"] == 20);
  const auto line = nlohmann::json::parse(outcome.err.substr(0, outcome.err.find('\n')));
  CHECK(line["path"] == "/v1/completions");
  CHECK(line["status"] == 200);
  CHECK(line["complete"] == true);
  CHECK(line["completion_tokens"] == 20);
  CHECK(line["trace_id"] == "0af7651916cd43dd8448eb211c80319c");
  CHECK(contains(outcome.err, "draining"));
}

TEST_CASE("SIGTERM lets answers under way end, and a second signal does not") {
  const Playground ground;
  const std::string serve = started("--served-model-name twin --speed 0.1");
  const Outcome drained = ground.run(
      serve + kCall + " >answer & C=$!; sleep 0.5; kill $P; wait $P; R=$?; wait $C; cat answer; exit $R");
  CHECK(drained.code == 0);
  CHECK(contains(drained.out, "\"completion_tokens\":20"));
  const Outcome twice =
      ground.run(serve + kCall + " >answer & sleep 0.5; kill $P; sleep 0.2; kill $P; wait $P");
  CHECK(twice.code == 143);
}

TEST_CASE("other machines may call only with a key or when it is said that they may") {
  const Playground ground;
  const Outcome refused = ground.run("$S serve --simulate quickstart --host 0.0.0.0 --port 0");
  CHECK(refused.code == 2);
  CHECK(contains(refused.err, "--api-key"));
  CHECK(ground.run(started("--host 0.0.0.0 --api-key k") + "kill $P; wait $P").code == 0);
  CHECK(ground.run(started("--host 0.0.0.0 --allow-remote") + "kill $P; wait $P").code == 0);
  CHECK(ground.run("$S serve").code == 2);
  CHECK(ground.run("$S serve --simulate quickstart --speed 0").code == 2);
  CHECK(ground.run("$S serve --simulate quickstart --host 192.0.2.1 --allow-remote --port 0").code == 4);
}

}  // namespace
}  // namespace servetwin::test
