// If these fail, a model is served from the command line with memory or options that nobody asked for.
#include "tests/cli/program.h"
#include "tests/support/catch.h"

namespace servetwin::test::serve_model_test {
namespace {

const std::string kServe = "$S serve --port 0 --model servetwin/tiny-llama-random ";

TEST_CASE("a model is served with the KV memory that was given, and how many tokens that is is said") {
  const Playground ground;
  const Outcome outcome =
      ground.run(kServe +
                 "--kv-memory 4MiB --served-model-name t >address & P=$!; "
                 "while ! grep -q http address; do sleep 0.05; done; U=$(sed 's/.* //' address); "
                 "curl -s $U/v1/completions -H 'Content-Type: application/json' -d '{\"model\": \"t\", "
                 "\"prompt\": \"Hello\", \"max_tokens\": 3}'; kill $P; wait $P");
  CHECK(outcome.code == 0);
  CHECK(contains(outcome.err,
                 "512 blocks of 16 tokens in f32, 4MiB: 8,176 tokens; up to 2,048 tokens a request"));
  CHECK(contains(outcome.out, "\"prompt_tokens\":5,\"completion_tokens\":3"));
}

TEST_CASE("served with two cores, one computes and the other has the core and HTTP threads") {
  const Playground ground;
  if (ground.run("taskset -pc $$ | grep -q ': 0[-,]1'").code != 0) {
    WARN("skipped: needs cores 0 and 1");
    return;
  }
  const Outcome outcome =
      ground.run(kServe +
                 "--num-blocks 40 --cpus 1,0 >address & P=$!; "
                 "while ! grep -q http address; do sleep 0.05; done; sleep 0.2; "
                 "for T in /proc/$P/task/*; do echo \"$(cat $T/comm) $(grep Cpus_allowed_list $T/status)\"; "
                 "done; kill $P; wait $P");
  CHECK(outcome.code == 0);
  CHECK(contains(outcome.err, "threads: compute on core 1, one each; all others on 0\n"));
  for (const char* line : {"compute Cpus_allowed_list:\t1\n", "core Cpus_allowed_list:\t0\n",
                           "http Cpus_allowed_list:\t0\n", "servetwin Cpus_allowed_list:\t0\n"}) {
    CAPTURE(line);
    CHECK(contains(outcome.out, line));
  }
}

TEST_CASE("serving a model without its KV memory, or with what belongs to a simulation, is refused") {
  const Playground ground;
  for (const char* options :
       {"", "--kv-memory 4MiB --num-blocks 9", "--kv-memory 1kB", "--num-blocks 1",
        "--num-blocks 9 --max-model-len 129", "--num-blocks 9 --kv-dtype q4_0", "--num-blocks 9 --speed 2",
        "--num-blocks 9 --set seed=2", "--num-blocks 9 --simulate quickstart"}) {
    CAPTURE(options);
    CHECK(ground.run(kServe + options).code == 2);
  }
  CHECK(ground.run("$S serve --port 0 --simulate quickstart --num-blocks 9").code == 2);
  const Outcome shape = ground.run("$S serve --port 0 --num-blocks 9 --model meta-llama/Llama-3.1-8B");
  CHECK(shape.code == 2);
  CHECK(contains(shape.err, "has no weights here"));
}

}  // namespace
}  // namespace servetwin::test::serve_model_test
