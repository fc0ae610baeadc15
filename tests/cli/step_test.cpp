// If one of these fails, `step` shows another run than happened, wrongly, or leaves a terminal unusable.
#include <algorithm>
#include <csignal>
#include <sstream>

#include "tests/cli/pty_session.h"
#include "tests/support/catch.h"

namespace servetwin::test::step_test {
namespace {

constexpr const char* kRight = "\x1b[C";
constexpr const char* kLeft = "\x1b[D";
constexpr const char* kDown = "\x1b[B";
constexpr const char* kHome = "\x1b[H";
constexpr const char* kEnd = "\x1b[F";
constexpr const char* kPageDown = "\x1b[6~";

// The printed step as a page of that size has it above its last line.
std::string printed(const Playground& ground, const std::string& what, int width, int height) {
  const Outcome outcome = ground.run("$S step " + what + " --width " + std::to_string(width) + " --height " +
                                     std::to_string(height - 1));
  CHECK(outcome.code == 0);
  return outcome.out;
}

std::size_t longest_line(const std::string& text) {
  std::istringstream lines(text);
  std::size_t longest = 0;
  for (std::string line; std::getline(lines, line);) longest = std::max(longest, line.size());
  return longest;
}

TEST_CASE("a printed step is this text, and narrower, lower and wider it is these") {
  const Playground ground;
  write_tiny(ground);
  const Outcome steps = ground.run(
      "$S step tiny.yaml --at 3; $S step tiny.yaml --at 2 --width 40 --height 18; "
      "$S step tiny.yaml --at 3 --width 130 --height 18 --follow 1");
  CHECK(steps.out == ground.run("cat '" SERVETWIN_SOURCE_DIR "/tests/cli/tiny_steps.txt'").out);
}

TEST_CASE("the lines of a step stay within every width and height") {
  const Playground ground;
  for (const int width : {1, 2, 7, 20, 40, 79, 119, 120, 200}) {
    for (const int height : {1, 2, 5, 9, 17, 30, 80}) {
      CAPTURE(width, height);
      const std::string what = "preemption --set workload.duration=22s --at 400 --follow 50";
      const std::string text = printed(ground, what, width, height + 1);
      CHECK(longest_line(text) <= static_cast<std::size_t>(width));
      CHECK(std::count(text.begin(), text.end(), '\n') <= height);
      if (height > 1 && height <= 30) CHECK(std::count(text.begin(), text.end(), '\n') > height / 2);
    }
  }
}

TEST_CASE("several steps are printed one after another, to the last one at most") {
  const Playground ground;
  write_tiny(ground);
  const Outcome all = ground.run("$S step tiny.yaml --from 2 --to 99");
  CHECK(all.code == 0);
  CHECK(all.out.rfind("step 2  replica 0", 0) == 0);
  CHECK(contains(all.out, "\n\nstep 3  "));
  CHECK(contains(all.out, "\n\nstep 5  "));
  CHECK_FALSE(contains(all.out, "step 6"));
  CHECK(all.out.find('\x1b') == std::string::npos);
  const Outcome beyond = ground.run("$S step tiny.yaml --at 6");
  CHECK(beyond.code == 2);
  CHECK(contains(beyond.err, "the replica has 5 steps, and no step 6"));
}

TEST_CASE("what makes no sense to step is exit code 2") {
  const Playground ground;
  write_tiny(ground);
  CHECK(ground.run("$S simulate tiny.yaml --out r").code == 0);
  CHECK(
      contains(ground.run("$S step tiny.yaml").err, "there is no terminal to draw on; --at N prints a step"));
  for (const char* words :
       {"", "nosuch", "tiny.yaml", "tiny.yaml --at 0", "tiny.yaml --at x", "tiny.yaml --at 1 --to 2",
        "tiny.yaml --from 3 --to 2", "tiny.yaml --at 1 --replica 1", "tiny.yaml --at 1 --width 0",
        "tiny.yaml --at 1 --follow -1", "r --at 1 --set seed=3", "trace.csv --at 1"}) {
    CAPTURE(words);
    const Outcome outcome = ground.run(std::string("$S step ") + words);
    CHECK(outcome.code == 2);
    CHECK(outcome.out.empty());
  }
}

TEST_CASE(
    "a run's folder and its journal show the steps of the scenario, and say whether they are the run's") {
  const Playground ground;
  write_tiny(ground);
  CHECK(ground.run("$S simulate tiny.yaml --journal --out r").code == 0);
  const std::string step = ground.run("$S step tiny.yaml --at 3").out;
  const Outcome folder = ground.run("$S step r --at 3");
  CHECK(folder.code == 0);
  CHECK(folder.out.rfind(step, 0) == 0);
  CHECK(contains(folder.out, "simulated again, every step by itself: same decisions"));
  CHECK(ground.run("$S step r/journal.jsonl.zst --at 3").out == step);
  CHECK(ground.run("sed -i 's/max_num_batched_tokens: 2048/max_num_batched_tokens: 1024/' r/config.yaml")
            .code == 0);
  const Outcome changed = ground.run("$S step r --at 3");
  CHECK(changed.code == 1);
  CHECK(contains(changed.err, "this is not what happened then"));
}

TEST_CASE("a step tells who was preempted, for whom and by which rule, and so does the request's life") {
  const Playground ground;
  const std::string scenario = "preemption --set workload.duration=22s";
  CHECK(ground.run("$S simulate " + scenario + " --out r").code == 0);
  const std::string why = "to make room for request 136 (victim rule: last_admitted)";
  const std::string step = ground.run("$S step " + scenario + " --at 3206 --width 200 --follow 142").out;
  CAPTURE(step);
  CHECK(contains(step, "request 142 preempted: " + why + ", 258 computed tokens lost\n"));
  CHECK(contains(step, "> request 142: waiting, preemption in this step: "));
  CHECK(contains(ground.run("$S explain r request 142").out, "preempted: " + why));
  CHECK(contains(ground.run("$S explain r step 3206").out, "request 142: preempted, " + why));
  const Outcome json = ground.run("$S explain r step 3206 --json");
  CHECK(contains(json.out, "\"for\": 136,\n      \"because\": \"" + why + '"'));
}

TEST_CASE("giving way, finding no room for oneself and room made ahead are told apart") {
  const Playground ground;
  const std::string scenario = "$S step preemption --set workload.duration=22s --width 200 --set ";
  const std::string yields = "engine.rules.waiting_order=mlfq --set engine.rules.yield=by_order --at 1057";
  CHECK(contains(ground.run(scenario + yields).out,
                 "request 19 preempted: giving way to request 42, which waits (yield rule: by_order)"));
  CHECK(contains(ground.run(scenario + "engine.preset=vllm-v1 --at 1591").out,
                 " preempted: having found no room for its own next tokens (victim rule: last_admitted)"));
  const std::string ahead = "engine.preset=sglang --set engine.rules.admission=optimistic --at 146";
  CHECK(contains(ground.run(scenario + ahead).out,
                 " preempted: to make room for the steps ahead (victim rule: fewest_outputs)"));
}

TEST_CASE("blocks that several requests hold are counted and drawn as shared, cached ones as cached") {
  const Playground ground;
  const std::string text = ground
                               .run(
                                   "$S step prefix_caching --set engine.memory_fraction=null --set "
                                   "engine.num_blocks=3000 --at 2000")
                               .out;
  CAPTURE(text);
  CHECK(contains(text, "660 of 2,999 held, 2,270 cached\n"));
  // The 148 that 136 and 143 share and the 139 of 140 and 142 are held twice and counted once:
  // 660 = 167 + 148 + 145 + 161 + 165 + 161 - 148 - 139.
  CHECK(contains(text, "  136  decode           1     2670    2501     170     167     148  g\n"));
  CHECK(contains(text, "  142  decode           1     2627    2524     104     165     139  m\n"));
  CHECK(contains(text, "  138  decode           1     2366    2217     150     148       0  i\n"));
  CHECK(contains(text, "KV blocks, 5 a cell: "));
  CHECK(std::count(text.begin() + static_cast<std::ptrdiff_t>(text.find("a cell: ")), text.end(), '2') ==
        287 / 5 + 1);  // one is in the heading, "2-9+"
  CHECK(contains(text, "mmmmmnnn::::::"));
}

TEST_CASE("the arrow keys, letters and numbers go forwards and backwards through the same steps") {
  const Playground ground;
  write_tiny(ground);
  PtySession session(ground, {"step", "tiny.yaml"}, 80, 24);
  const std::string first = printed(ground, "tiny.yaml --at 1", 80, 24);
  REQUIRE(session.shows(first));
  CHECK(session.shows("q: quit"));
  session.press(kRight);
  CHECK(session.shows(printed(ground, "tiny.yaml --at 2", 80, 24)));
  session.press("l");
  CHECK(session.shows(printed(ground, "tiny.yaml --at 3", 80, 24)));
  session.press(kLeft);
  CHECK(session.shows(printed(ground, "tiny.yaml --at 2", 80, 24)));
  session.press("h");
  CHECK(session.shows(first));
  session.press("h");  // there is none before it
  session.press("g4");
  CHECK(session.shows("go to step: 4_"));
  session.press(
      "\x7f"
      "3\n");
  CHECK(session.shows("step 3  replica 0"));
  session.press(kPageDown);  // beyond the end: the last one, and how many there are
  CHECK(session.shows("step 5 of 5  replica 0"));
  CHECK(session.shows("the last step is 5"));
  session.press(kHome);
  CHECK(session.shows("step 1 of 5  replica 0"));
  session.press(kEnd);
  CHECK(session.shows("step 5 of 5  replica 0"));
  session.press("?");
  CHECK(session.shows("the next step, or the one before, in which something"));
  session.press("x");
  CHECK(session.shows("step 5 of 5  replica 0"));
  session.press("q");
  CHECK(session.ends() == 0);
  CHECK(session.is_restored());
}

TEST_CASE("a request is followed by number and by arrows, and found where its state changes") {
  const Playground ground;
  write_tiny(ground);
  PtySession session(ground, {"step", "tiny.yaml"}, 100, 30);
  REQUIRE(session.shows("step 1  replica 0"));
  session.press("f1\n");
  CHECK(session.shows("> request 1: not here in this step"));
  session.press("n");
  CHECK(session.shows("> request 1: waiting, token budget: 2048 of 2048 tokens go to request 0"));
  session.press("n");
  CHECK(session.shows("> request 1: admitted, 144 tokens after 0"));
  session.press("p");
  CHECK(session.shows("step 2  replica 0"));
  session.press("u");
  session.press(kDown);
  CHECK(session.shows("> request 0: "));
  session.press("j");
  CHECK(session.shows("> request 1: "));
  session.press("k");
  CHECK(session.shows("> request 0: "));
  session.press("q");
  CHECK(session.ends() == 0);
}

TEST_CASE("a page follows the size of the terminal while it changes") {
  const Playground ground;
  write_tiny(ground);
  PtySession session(ground, {"step", "tiny.yaml"}, 80, 24);
  REQUIRE(session.shows(printed(ground, "tiny.yaml --at 1", 80, 24)));
  session.resize(130, 12);
  CHECK(session.shows(printed(ground, "tiny.yaml --at 1", 130, 12)));
  session.resize(20, 3);
  CHECK(session.shows(printed(ground, "tiny.yaml --at 1", 20, 3)));
  session.resize(1, 1);
  session.resize(80, 24);
  CHECK(session.shows(printed(ground, "tiny.yaml --at 1", 80, 24)));
}

TEST_CASE("a far step is reached, gone back from and given up, and a short way back is the same steps") {
  const Playground ground;
  // Too long for the end to be reached before the test gives it up.
  const std::string scenario = "preemption --set workload.duration=3h";
  PtySession session(ground, {"step", "preemption", "--set", "workload.duration=3h"}, 80, 24);
  REQUIRE(session.shows("step 1  replica 0"));
  session.press("g10000\n");
  CHECK(session.shows("step 10000  replica 0"));
  CHECK(contains(session.bytes(), " on the way to 10,000; any key gives up"));
  session.press(kLeft);
  CHECK(session.shows(printed(ground, scenario + " --at 9999", 80, 24)));
  session.press("g20\n");
  CHECK(session.shows(printed(ground, scenario + " --at 20", 80, 24)));
  session.press(kEnd);
  REQUIRE(session.shows(" on the way to the end"));
  session.press("x");
  CHECK(session.shows("given up at step "));
  CHECK(session.shows("step 20  replica 0"));
  session.press(kRight);
  CHECK(session.shows(printed(ground, scenario + " --at 21", 80, 24)));
  session.press("q");
  CHECK(session.ends() == 0);
}

TEST_CASE("whatever ends the program, the terminal is as it was before") {
  const Playground ground;
  write_tiny(ground);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGSEGV, SIGABRT}) {
    CAPTURE(signal);
    PtySession session(ground, {"step", "tiny.yaml"}, 80, 24);
    REQUIRE(session.shows("q: quit"));
    CHECK_FALSE(session.is_restored());
    CHECK(contains(session.bytes(), "\x1b[?1049h"));
    session.signal(signal);
    CHECK(session.ends() == 128 + signal);
    CHECK(session.is_restored());
    CHECK(contains(session.bytes(), "\x1b[?25h\x1b[?1049l"));
  }
  PtySession typed(ground, {"step", "tiny.yaml"}, 80, 24);
  REQUIRE(typed.shows("q: quit"));
  typed.press("\x03");
  CHECK(typed.ends() == 130);
  CHECK(typed.is_restored());
}

TEST_CASE("an invariant that breaks on the way gives the terminal back before it is told") {
  const Playground ground;
  write_tiny(ground);
  ground.write("step.csv", "step,duration_us\n1,10000\n");  // and none for step 2
  PtySession session(ground, {"step", "tiny.yaml"}, 80, 24);
  REQUIRE(session.shows("q: quit"));
  session.press(kRight);
  CHECK(session.ends() == 3);
  CHECK(session.is_restored());
  const std::size_t left = session.bytes().rfind("\x1b[?1049l");
  REQUIRE(left != std::string::npos);
  CHECK(session.bytes().find("invariant broken", left) != std::string::npos);
}

TEST_CASE("a program that is put aside gives the terminal back, and draws again when it goes on") {
  const Playground ground;
  write_tiny(ground);
  PtySession session(ground, {"step", "tiny.yaml"}, 80, 24);
  REQUIRE(session.shows("q: quit"));
  session.press("\x1a");
  REQUIRE(session.stops());
  CHECK(session.is_restored());
  session.signal(SIGCONT);
  session.press(kRight);
  CHECK(session.shows(printed(ground, "tiny.yaml --at 2", 80, 24)));
  CHECK_FALSE(session.is_restored());
  session.press("q");
  CHECK(session.ends() == 0);
  CHECK(session.is_restored());
}

TEST_CASE("emphasis is for terminals that want it") {
  const Playground ground;
  write_tiny(ground);
  PtySession coloured(ground, {"step", "tiny.yaml"}, 80, 24);
  REQUIRE(coloured.shows("q: quit"));
  CHECK(contains(coloured.bytes(), "\x1b[1mstep 1"));
  PtySession plain(ground, {"step", "tiny.yaml"}, 80, 24, {"NO_COLOR=1"});
  REQUIRE(plain.shows("q: quit"));
  CHECK_FALSE(contains(plain.bytes(), "\x1b[1m"));
  PtySession dumb(ground, {"step", "tiny.yaml"}, 80, 24, {"TERM=dumb"});
  CHECK(dumb.ends() == 2);
}

}  // namespace
}  // namespace servetwin::test::step_test
