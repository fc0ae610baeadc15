// If these fail, a verb other than simulate gives a wrong answer or a wrong exit code.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/cli/program.h"
#include "tests/support/catch.h"

namespace servetwin::test::verbs_test {
namespace {

TEST_CASE("usage errors are exit code 2 and suggest the nearest word") {
  const Playground ground;
  const Outcome verb = ground.run("$S simulat quickstart");
  CHECK(verb.code == 2);
  CHECK(verb.out.empty());
  CHECK(contains(verb.err, "unknown verb simulat (did you mean simulate?)"));
  const Outcome option = ground.run("$S simulate --jsn");
  CHECK(option.code == 2);
  CHECK(contains(option.err, "unknown option --jsn (did you mean --json?)"));
  CHECK(ground.run("$S simulate quickstart extra").code == 2);
  CHECK(ground.run("$S simulate").code == 2);
  CHECK(ground.run("$S").code == 2);
  CHECK(contains(ground.run("$S list router").err, "did you mean routers?"));
  CHECK(contains(ground.run("$S --versoin").err, "did you mean --version?"));
}

TEST_CASE("help and version are data and name every verb and the build") {
  const Playground ground;
  const Outcome help = ground.run("$S --help");
  CHECK(help.code == 0);
  CHECK(help.err.empty());
  for (const char* verb :
       {"simulate", "validate", "list", "init", "replay", "diff", "explain", "step", "selfcheck", "config"}) {
    CAPTURE(verb);
    CHECK(contains(help.out, std::string("  ") + verb));
    CHECK(ground.run(std::string("$S ") + verb + " --help").code == 0);
  }
  CHECK(contains(ground.run("$S --version").out, "compiler "));
}

TEST_CASE("a journal replays to its digests, and a damaged or missing one is refused") {
  const Playground ground;
  write_tiny(ground);
  CHECK(ground.run("$S simulate tiny.yaml --journal --out r").code == 0);
  const Outcome replayed = ground.run("$S replay r/journal.jsonl.zst");
  CHECK(replayed.code == 0);
  CHECK(contains(replayed.out, "equal"));
  CHECK_FALSE(contains(replayed.out, "different"));
  CHECK(ground.run("$S replay r").code == 0);
  CHECK(ground.run("$S replay tiny.yaml").code == 2);
}

TEST_CASE("a run that is not there is exit code 2 from every verb that asks for one") {
  const Playground ground;
  write_tiny(ground);
  CHECK(ground.run("$S simulate tiny.yaml --out r").code == 0);
  for (const char* command : {"replay nosuch", "diff nosuch r", "diff r nosuch", "explain nosuch step 1",
                              "explain nosuch request 1", "simulate nosuch"}) {
    CAPTURE(command);
    const Outcome outcome = ground.run(std::string("$S ") + command);
    CHECK(outcome.code == 2);
    CHECK(outcome.out.empty());
    CHECK(contains(outcome.err, "nosuch: no such f"));
    CHECK(contains(outcome.err, "[CFG001]"));
  }
  const Outcome without = ground.run("$S replay r");
  CHECK(without.code == 2);
  CHECK(contains(without.err, "r/journal.jsonl.zst: no such file (simulate it again with --journal)"));
}

TEST_CASE("a journal that is cut off or damaged is exit code 2, also when it agrees as far as it goes") {
  const Playground ground;
  CHECK(ground.run("$S simulate preemption --set workload.duration=60s --journal --out r").code == 0);
  CHECK(ground
            .run("size=$(wc -c <r/journal.jsonl.zst) && head -c $((size - 7)) r/journal.jsonl.zst >cut && "
                 "zstdcat r/journal.jsonl.zst | head -n -1 | zstd -q -o no_footer && "
                 "cp r/journal.jsonl.zst bad && "
                 "printf 'x' | dd of=bad bs=1 seek=$((size / 2)) conv=notrunc 2>/dev/null")
            .code == 0);
  for (const char* file : {"cut", "no_footer", "bad"}) {
    CAPTURE(file);
    const Outcome replayed = ground.run(std::string("$S replay ") + file);
    CHECK(replayed.code == 2);
    CHECK(contains(replayed.err, std::string(file) + ":"));
    CHECK(contains(replayed.err, "[JRN00"));
    CHECK(ground.run(std::string("$S diff r ") + file).code == 2);
    CHECK(ground.run(std::string("$S diff ") + file + " r").code == 2);
  }
  CHECK(contains(ground.run("$S replay cut").err, "is cut off after this line"));
}

TEST_CASE("a journal whose engine was changed is replayed to its first difference") {
  const Playground ground;
  write_tiny(ground);
  CHECK(ground.run("$S simulate tiny.yaml --journal --out r").code == 0);
  const Outcome changed = ground.run(
      "zstdcat r/journal.jsonl.zst | sed '1s/max_num_batched_tokens: 2048/max_num_batched_tokens: 8192/' | "
      "zstd -q -o changed.zst && $S replay changed.zst");
  CHECK(changed.code == 1);
  CHECK(contains(changed.out, "first difference: "));
  CHECK(contains(changed.out, "the journal plans, the replay asked for no plan"));
  CHECK(contains(changed.out, "no digests to compare"));
}

TEST_CASE("diff is silent about equal runs and names the first step that differs") {
  const Playground ground;
  write_tiny(ground);
  CHECK(ground.run("$S simulate tiny.yaml --journal --out a").code == 0);
  CHECK(ground.run("$S simulate tiny.yaml --out b").code == 0);
  CHECK(ground.run("$S simulate tiny.yaml --set engine.max_num_seqs=1 --out c").code == 0);
  CHECK(ground.run("$S diff a b").code == 0);
  const Outcome outcome = ground.run("$S diff a/journal.jsonl.zst c");
  CHECK(outcome.code == 1);
  CHECK(contains(outcome.out, "The first difference is step 3 of replica 0:"));
  CHECK(contains(outcome.out, "admit request 1"));
  CHECK(contains(outcome.out, "steps are equal"));
}

TEST_CASE("explain says why a request was not scheduled at a step") {
  const Playground ground;
  write_tiny(ground);
  CHECK(ground.run("$S simulate tiny.yaml --out r").code == 0);
  CHECK(contains(ground.run("$S explain r request 1 step 1").out, "not there yet"));
  const Outcome waits = ground.run("$S explain r request 1 step 2");
  CHECK(waits.code == 0);
  CHECK(contains(waits.out, "request 1 at step 2 of replica 0: waiting, token budget"));
  CHECK(contains(ground.run("$S explain r request 1 step 3").out, "admitted: 144 tokens after 0"));
  CHECK(contains(ground.run("$S explain r request 1 step 6").out, "not there any more"));
  const std::string life = ground.run("$S explain r request 1").out;
  CHECK(contains(life, "queued behind 1 running (0)"));
  CHECK(contains(life, " s  step 2         waiting, token budget"));
  CHECK(contains(life, "ended: length, 2 tokens"));
  CHECK(ground.run("$S explain r request 9").code == 2);
}

TEST_CASE("a request's story joins its waiting, counts the reasons, and says where its time went") {
  const Playground ground;
  CHECK(ground.run("$S simulate preemption --set workload.duration=22s --out r").code == 0);
  const std::string life = ground.run("$S explain r request 142").out;
  CAPTURE(life);
  CHECK(contains(life, "fcfs waiting order, optimistic admission, last_admitted victims\n"));
  CHECK(contains(life, " × behind a head that KV memory holds back, "));
  CHECK(contains(life,
                 "admitted: 251 tokens after 0, 0 from the prefix cache, 16 blocks held, yields a token\n"));
  CHECK(contains(life,
                 "step 3206      preempted: to make room for request 136 (victim rule: last_admitted), 258 "
                 "computed tokens lost\n"));
  CHECK(contains(life, "s in all, 5.628966 s of them until it was first scheduled, 0.444956 s preempted"));
  CHECK(contains(life, "; 529 tokens computed again\n"));
  CHECK(std::count(life.begin(), life.end(), '\n') < 25);
}

TEST_CASE("explain of a step gives cost with evidence, batch and who waits") {
  const Playground ground;
  write_tiny(ground);
  CHECK(ground.run("$S simulate tiny.yaml --set cost='{model: analytic}' --out r").code == 0);
  const Outcome outcome = ground.run("$S explain r step 1");
  CHECK(outcome.code == 0);
  CHECK(contains(outcome.out, "gemm"));
  CHECK(contains(outcome.out, "analytic"));
  CHECK(contains(outcome.out, "request 0: 2048 tokens after 0, admitted"));
  CHECK(contains(outcome.out, "same decisions"));
  CHECK(ground.run("$S explain r step 999").code == 2);
  CHECK(ground.run("$S explain r step 1 --replica 1").code == 2);
  CHECK(ground.run("$S explain . step 1").code == 2);
}

TEST_CASE("every step of runs that hold requests back for many reasons can be explained") {
  const Playground ground;
  for (const char* settings :
       {"preemption --set workload.duration=20s", "head_of_line --set workload.duration=20s",
        "preemption --set workload.duration=20s --set engine.preset=vllm-v1-async",
        "preemption --set workload.duration=20s --set engine.rules.admission=conservative",
        "preemption --set workload.duration=20s --set engine.preset=vllm-v1-priority",
        "chunked_prefill --set workload.duration=20s"}) {
    CAPTURE(settings);
    CHECK(ground.run(std::string("$S simulate ") + settings + " --out r --force").code == 0);
    // Every plan that the request lives through is attributed, and checked against what the plan counts.
    for (const char* request : {"3", "12", "20"}) {
      const Outcome outcome = ground.run(std::string("$S explain r request ") + request);
      CAPTURE(outcome.err);
      CHECK(outcome.code == 0);
    }
  }
}

TEST_CASE("explain notices a run that its config no longer makes") {
  const Playground ground;
  write_tiny(ground);
  CHECK(ground.run("$S simulate tiny.yaml --out r").code == 0);
  CHECK(ground.run("sed -i 's/max_num_batched_tokens: 2048/max_num_batched_tokens: 1024/' r/config.yaml")
            .code == 0);
  const Outcome outcome = ground.run("$S explain r step 1");
  CHECK(outcome.code == 1);
  CHECK(contains(outcome.err, "this is not what happened then"));
}

TEST_CASE("explain of a code prints its page") {
  const Playground ground;
  CHECK(contains(ground.run("$S explain CFG301").out, "CFG301: "));
  CHECK(ground.run("$S explain CFG999").code == 2);
}

TEST_CASE("init writes a scenario that validates, and overwrites nothing") {
  const Playground ground;
  CHECK(ground.run("$S init mine").code == 0);
  CHECK(contains(ground.read("mine.yaml"), "# yaml-language-server: $schema=mine.schema.json"));
  CHECK(nlohmann::json::parse(ground.read("mine.schema.json"), nullptr, false).is_object());
  CHECK(ground.run("$S validate mine.yaml").code == 0);
  ground.write("mine.yaml", "kept");
  CHECK(ground.run("$S init mine").code == 2);
  CHECK(ground.read("mine.yaml") == "kept");
  CHECK(ground.run("$S init mine --force").code == 0);
  CHECK(ground.read("mine.yaml") != "kept");
}

TEST_CASE("config shows each value with its origin") {
  const Playground ground;
  write_tiny(ground);
  const std::string out = ground.run("$S config show --resolved tiny.yaml --set engine.block_size=32").out;
  const auto line_of = [&](const std::string& key) {
    const std::size_t at = out.find(key + " ");
    return at == std::string::npos ? std::string() : out.substr(at, out.find('\n', at) - at);
  };
  CHECK(contains(line_of("spec.engine.block_size"), "32"));
  CHECK(contains(line_of("spec.engine.block_size"), "command line"));
  CHECK(contains(line_of("spec.engine.num_blocks"), "tiny.yaml:7"));
  CHECK(contains(line_of("spec.seed"), "default"));
  CHECK(nlohmann::json::parse(ground.run("$S config schema").out, nullptr, false).is_object());
  CHECK(ground.run("$S config").code == 2);
}

TEST_CASE("list shows every kind with parameters") {
  const Playground ground;
  const std::string all = ground.run("$S list").out;
  for (const char* name : {"quickstart", "h100-sxm", "meta-llama/Llama-3.1-8B", "vllm-v1", "late_binding",
                           "conservative", "analytic", "poisson", "lognormal"}) {
    CAPTURE(name);
    CHECK(contains(all, std::string("  ") + name));
  }
  const std::string arrivals = ground.run("$S list arrivals").out;
  CHECK(contains(arrivals, "rate"));
  CHECK_FALSE(contains(arrivals, "h100-sxm"));
}

TEST_CASE("selfcheck proves what it lists, a broken invariant's exit code 3 among it") {
  const Playground ground;
  const Outcome outcome = ground.run("$S selfcheck");
  CHECK(outcome.code == 0);
  CHECK_FALSE(contains(outcome.out, "FAILED"));
  for (const char* row : {"M/M/1", "M/D/1", "M/G/1", "M/M/4", "Little's law", "shortcut = plain loop",
                          "replay of own journal", "broken invariant       reported with exit code 3"}) {
    CAPTURE(row);
    CHECK(contains(outcome.out, std::string("ok     ") + row));
  }
}

}  // namespace
}  // namespace servetwin::test::verbs_test
