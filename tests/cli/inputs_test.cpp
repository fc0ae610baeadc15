// If these fail, a file that is none makes the program hang, eat the memory or write into the wrong place.
#include <string>
#include <vector>

#include "tests/cli/program.h"
#include "tests/support/catch.h"

namespace servetwin::test::inputs_test {
namespace {

#ifdef __has_feature
constexpr bool kAddressSanitizer = __has_feature(address_sanitizer);
#elif defined(__SANITIZE_ADDRESS__)
constexpr bool kAddressSanitizer = true;
#else
constexpr bool kAddressSanitizer = false;
#endif

// Ends a command that hangs, with exit code 124, and one that eats memory. The address sanitizer maps
// terabytes of address space at once, and has a limit of its own for what is used of it.
const std::string kGuarded = kAddressSanitizer ? "ASAN_OPTIONS=hard_rss_limit_mb=2000 timeout 20 $S "
                                               : "ulimit -v 2000000; timeout 20 $S ";

// Something that is no regular file in the place of every input, by name.
const std::vector<std::string> kNoFiles = {"/dev/zero", "/dev/full", "pipe", "folder", "/dev/stdin"};

void write_no_files(const Playground& ground) {
  write_tiny(ground);
  CHECK(ground.run("mkfifo pipe && mkdir folder").code == 0);
}

void check_refused(const Playground& ground, const std::string& command, const std::string& name) {
  CAPTURE(command);
  const Outcome outcome = ground.run(kGuarded + command);
  CHECK(outcome.code == 2);
  CHECK(outcome.out.empty());
  CHECK(contains(outcome.err, name));
  CHECK(contains(outcome.err, " ("));  // a remedy
}

TEST_CASE("a device, a pipe or a folder in the place of a scenario is refused") {
  const Playground ground;
  write_no_files(ground);
  for (const std::string& name : kNoFiles) {
    check_refused(ground, "simulate " + name, name);
    check_refused(ground, "validate " + name, name);
    ground.write("child.yaml", "extends: " + name + "\nspec: {replicas: 2}\n");
    check_refused(ground, "validate child.yaml", name);
  }
}

TEST_CASE("a device, a pipe or a folder in the place of a trace is refused") {
  const Playground ground;
  write_no_files(ground);
  for (const std::string& name : kNoFiles) {
    check_refused(ground, "simulate tiny.yaml --workload trace:" + name, name);
    check_refused(ground, "simulate tiny.yaml --set 'initial.kv_cache=\"trace:" + name + "\"'", name);
  }
}

TEST_CASE("a device, a pipe or a folder in the place of a table of durations is refused") {
  const Playground ground;
  write_no_files(ground);
  for (const std::string& name : kNoFiles) {
    check_refused(ground, "simulate tiny.yaml --set cost.durations=" + name, name);
  }
}

TEST_CASE("a device or a pipe in the place of a model or a device file is refused") {
  const Playground ground;
  write_no_files(ground);
  CHECK(ground.run("mkdir model && mkfifo model/config.json").code == 0);
  check_refused(ground, "simulate tiny.yaml --set model=./model", "model/config.json");
  for (const char* name : {"/dev/zero", "./pipe", "./folder"}) {
    check_refused(ground, std::string("simulate tiny.yaml --set model=") + name, name + 2);
    check_refused(ground, std::string("simulate tiny.yaml --set device=") + name, name + 2);
  }
}

TEST_CASE("a device, a pipe or a folder in the place of a run or journal is refused") {
  const Playground ground;
  write_no_files(ground);
  CHECK(ground.run("$S simulate tiny.yaml --journal --out r").code == 0);
  for (const std::string& name : kNoFiles) {
    check_refused(ground, "replay " + name, name);
    check_refused(ground, "explain " + name + " step 1", name);
    if (name != "folder") check_refused(ground, "diff r " + name, name);
  }
  CHECK(ground.run("rm r/journal.jsonl.zst r/config.yaml && mkfifo r/journal.jsonl.zst r/config.yaml").code ==
        0);
  check_refused(ground, "replay r", "r/journal.jsonl.zst");
  check_refused(ground, "explain r step 1", "r/config.yaml");
}

TEST_CASE("closed standard streams are errors of reading and writing, and no file takes their place") {
  const Playground ground;
  write_tiny(ground);
  const Outcome no_input = ground.run(kGuarded + "simulate - <&-");
  CHECK(no_input.code == 2);
  CHECK(contains(no_input.err, "cannot be read"));
  CHECK(ground.run("$S simulate tiny.yaml --out whole").code == 0);
  const Outcome no_output = ground.run(kGuarded + "simulate tiny.yaml --out r >&-");
  CHECK(no_output.code == 4);
  CHECK(contains(no_output.err, "cannot write standard output"));
  CHECK(ground.run("diff -r whole r").code == 0);
  CHECK(ground.run(kGuarded + "simulate tiny.yaml --out s <&- 2>&-").code == 0);
  CHECK(ground.run("diff -r whole s").code == 0);
}

TEST_CASE("an empty word on the command line is refused by the name of what it stands for") {
  const Playground ground;
  write_tiny(ground);
  for (const char* command :
       {"simulate ''", "simulate tiny.yaml --out ''", "simulate tiny.yaml --workload ''", "validate ''",
        "simulate tiny.yaml --set ''", "simulate tiny.yaml --fail-on ''", "replay ''", "explain ''",
        "init ''"}) {
    CAPTURE(command);
    const Outcome outcome = ground.run(std::string("$S ") + command);
    CHECK(outcome.code == 2);
    CHECK(outcome.out.empty());
    CHECK(contains(outcome.err, "is empty"));
  }
  CHECK_FALSE(ground.has("runs"));
}

TEST_CASE("traffic that no run comes to the end of is refused with place and remedy") {
  const Playground ground;
  write_tiny(ground);
  ground.write("loop.yaml",
               "extends: tiny.yaml\n"
               "spec:\n"
               "  workload:\n"
               "    trace: null\n"
               "    closed_loop: {users: 4}\n"
               "    lengths: {input: 8, output: 1}\n"
               "    duration: 1h\n");
  ground.write("step.csv", "step,duration_us\n*,0\n");
  const Outcome still = ground.run(kGuarded + "simulate loop.yaml --journal --out part");
  CHECK(still.code == 2);
  // What was served until then is kept.
  CHECK(ground.run("grep '\"complete\": false' part/summary.json").code == 0);
  CHECK(ground.run("[ $(wc -l < part/requests.csv) -gt 100000 ]").code == 0);
  CHECK(ground.run("$S replay part").code == 0);
  CHECK(contains(still.err, "tiny.yaml:8"));
  CHECK(contains(still.err, "time stands still (give think_time"));
  CHECK(contains(still.err, "[WKL005]"));
  for (const char* rate : {"1e18/s", "0/s", ".inf/s", ".nan/s", "-1/s", "1e-30/s"}) {
    CAPTURE(rate);
    const Outcome outcome = ground.run(kGuarded + "simulate quickstart --set workload.arrivals.rate=" + rate);
    CHECK(outcome.code == 2);
    CHECK(contains(outcome.err, std::string("--set workload.arrivals.rate=") + rate));
    CHECK(contains(outcome.err, " ("));
  }
  const Outcome many = ground.run(
      kGuarded + "simulate quickstart --set workload.arrivals.rate=1e6/s --set workload.duration=1h");
  CHECK(many.code == 2);
  CHECK(contains(many.err, "quickstart.yaml:"));
  CHECK(contains(many.err, "about 3,600,000,000 requests would arrive in 1h, more than 1,000,000,000"));
}

}  // namespace
}  // namespace servetwin::test::inputs_test
