// If this fails, a parameter is read wrongly, a mistake in a scenario passes, or its description is not what
// is read.
#include "engine/base/params.h"

#include "tests/support/catch.h"

namespace servetwin::params_test {
namespace {

using namespace std::chrono_literals;

enum class Order { kFirst, kLast };

struct Limits {
  int depth = 1;
  std::optional<Bytes> memory;

  template <class Visitor>
  void fields(Visitor& v) {
    v("depth", depth, "Steps in flight.", Range{1, 2});
    v("memory", memory, "Memory to use.", kPositive);
  }
};

struct Everything {
  bool enabled = true;
  std::int64_t count = 5;
  double share = 0.9;
  std::string label = "none";
  Duration wait{30s};
  Tokens budget{2048};
  Blocks blocks{7};
  BytesPerSecond memory_bandwidth{3.35e12};
  FlopsPerSecond compute{989e12};
  PerSecond arrivals{9};
  Order order = Order::kFirst;
  std::vector<int> sizes{1, 2};
  std::optional<std::vector<Duration>> pauses;
  Limits limits;
  std::vector<Limits> stages;
  ConfigNode later;

  template <class Visitor>
  void fields(Visitor& v) {
    v("enabled", enabled, "On or off.");
    v("count", count, "How many.", AtLeast{0});
    v("share", share, "Part of the whole.", Range{0.0, 1.0}, kPositive);
    v("label", label, "Any text.");
    v("wait", wait, "Longest wait.", Range{1ms, 10min});
    v("budget", budget, "Tokens a step.", AtLeast{1});
    v("blocks", blocks, "Blocks.");
    v("memory_bandwidth", memory_bandwidth, "Of the device's memory.", kBytesOnly);
    v("compute", compute, "Dense.");
    v("arrivals", arrivals, "Requests.", kPositive);
    v("order", order, "Who goes.", Choices<Order>{{"first", Order::kFirst}, {"last", Order::kLast}});
    v("sizes", sizes, "Batch sizes.", AtLeast{1});
    v("pauses", pauses, "Pauses.");
    v("limits", limits, "Limits.");
    v("stages", stages, "Stages.");
    v("later", later, "For another reader.");
  }

  std::string problem() const { return count == 13 ? "count must not be 13" : ""; }
};

struct Needed {
  Duration wait{};

  template <class Visitor>
  void fields(Visitor& v) {
    v("wait", wait, "Longest wait.", kRequired);
  }
};

ConfigNode scalar(const std::string& text, bool quoted = false) {
  ConfigNode node;
  node.kind = ConfigNode::Kind::kScalar;
  node.text = text;
  node.quoted = quoted;
  return node;
}

ConfigNode list(std::vector<ConfigNode> items) {
  ConfigNode node;
  node.kind = ConfigNode::Kind::kList;
  node.items = std::move(items);
  return node;
}

ConfigNode map(std::vector<std::pair<std::string, ConfigNode>> entries) {
  ConfigNode node;
  node.kind = ConfigNode::Kind::kMap;
  node.place = {"a.yaml", 1, 1};
  node.path = "spec";
  int line = 2;
  for (auto& [name, child] : entries) {
    child.place = {"a.yaml", line++, 3};
    child.path = "spec." + name;
  }
  node.entries = std::move(entries);
  return node;
}

std::vector<std::string> problems_of(const ConfigNode& node) {
  std::vector<Problem> problems;
  read_params<Everything>(node, problems);
  std::vector<std::string> texts;
  for (const Problem& problem : problems) texts.push_back(to_string(problem));
  return texts;
}

std::string problem_with(const std::string& key, const ConfigNode& value) {
  const std::vector<std::string> texts = problems_of(map({{key, value}}));
  REQUIRE(texts.size() == 1);
  return texts[0];
}

TEST_CASE("a null node gives the defaults") {
  const Everything read = read_params<Everything>(ConfigNode{});
  CHECK(read.wait == 30s);
  CHECK(read.sizes == std::vector<int>{1, 2});
  CHECK(read.limits.depth == 1);
}

TEST_CASE("every type of field is read from its text") {
  const Everything read = read_params<Everything>(map({
      {"enabled", scalar("false")},
      {"count", scalar("1_000")},
      {"share", scalar("0.25")},
      {"label", scalar("no", true)},
      {"wait", scalar("200ms")},
      {"budget", scalar("4096")},
      {"blocks", scalar("1e3")},
      {"memory_bandwidth", scalar("900GB/s")},
      {"compute", scalar("1PFLOP/s")},
      {"arrivals", scalar("0.5/s")},
      {"order", scalar("last")},
      {"sizes", list({scalar("3"), scalar("4")})},
      {"pauses", list({scalar("1s")})},
      {"limits", map({{"depth", scalar("2")}, {"memory", scalar("80GiB")}})},
      {"stages", list({map({{"depth", scalar("2")}}), map({})})},
      {"later", map({{"anything", scalar("x")}})},
  }));
  CHECK_FALSE(read.enabled);
  CHECK(read.count == 1000);
  CHECK(read.share == 0.25);
  CHECK(read.label == "no");
  CHECK(read.wait == 200ms);
  CHECK(read.budget == Tokens{4096});
  CHECK(read.blocks == Blocks{1000});
  CHECK(read.memory_bandwidth == BytesPerSecond{900e9});
  CHECK(read.compute == FlopsPerSecond{1e15});
  CHECK(read.arrivals == PerSecond{0.5});
  CHECK(read.order == Order::kLast);
  CHECK(read.sizes == std::vector<int>{3, 4});
  CHECK(read.pauses == std::vector<Duration>{1s});
  CHECK(read.limits.depth == 2);
  CHECK(read.limits.memory == Bytes{85'899'345'920});
  REQUIRE(read.stages.size() == 2);
  CHECK(read.stages[0].depth == 2);
  REQUIRE(read.later.find("anything") != nullptr);
  CHECK(read.later.find("anything")->text == "x");
}

TEST_CASE("an unknown key is refused with place, path, nearest name and all names") {
  const std::string text = problem_with("enabeld", scalar("true"));
  CHECK(text.find("a.yaml:2:3: spec.enabeld: unknown key \"enabeld\" (did you mean enabled? valid: enabled, "
                  "count, ") == 0);
  CHECK(text.find("[CFG101]") != std::string::npos);
}

TEST_CASE("a value of the wrong type says what was found and what to write") {
  CHECK(problem_with("count", list({})) ==
        "a.yaml:2:3: spec.count: found a list (write a whole number) [CFG102]");
  CHECK(problem_with("sizes", scalar("3")) == "a.yaml:2:3: spec.sizes: found \"3\" (write a list) [CFG102]");
  CHECK(problem_with("limits", scalar("3")) ==
        "a.yaml:2:3: spec.limits: found \"3\" (write a map of fields) [CFG102]");
  CHECK(problem_with("count", scalar("3", true)) ==
        "a.yaml:2:3: spec.count: found the text \"3\" (write a whole number, without quotes) [CFG102]");
  CHECK(problem_with("sizes", list({ConfigNode{}})).find("found nothing") != std::string::npos);
}

TEST_CASE("a value out of range is refused with the range") {
  CHECK(problem_with("wait", scalar("11min")) ==
        "a.yaml:2:3: spec.wait: 11min is out of range (write a value from 1ms to 10min) [CFG104]");
  CHECK(problem_with("share", scalar("0")) ==
        "a.yaml:2:3: spec.share: 0 is out of range (write a value above 0 and at most 1) [CFG104]");
  CHECK(problem_with("count", scalar("-1")) ==
        "a.yaml:2:3: spec.count: -1 is out of range (write a value at least 0) [CFG104]");
  CHECK(problem_with("arrivals", scalar("0/s")).find("above 0/s") != std::string::npos);
  CHECK(problem_with("sizes", list({scalar("0")})).find("out of range") != std::string::npos);
}

TEST_CASE("quantities without a range must not be negative") {
  CHECK(problem_with("blocks", scalar("-1")).find("write a value at least 0") != std::string::npos);
  CHECK(problem_with("pauses", list({scalar("-1s")})).find("write a value at least 0s") != std::string::npos);
}

TEST_CASE("a bad scalar keeps the remedy of its reader") {
  CHECK(problem_with("wait", scalar("500")).find("did you mean 500ms?") != std::string::npos);
  CHECK(problem_with("enabled", scalar("yes")).find("write true") != std::string::npos);
  CHECK(problem_with("memory_bandwidth", scalar("900Gb/s")).find("is in bits") != std::string::npos);
  CHECK(problem_with("order", scalar("lats")) ==
        "a.yaml:2:3: spec.order: \"lats\" is not a choice (did you mean last? valid: first, last) [CFG103]");
  const ConfigNode deep = map({{"depth", scalar("9000000000")}});
  CHECK(problem_with("limits", deep).find("is too large") != std::string::npos);
}

TEST_CASE("all problems are collected, also of nested fields, and thrown together") {
  const ConfigNode node = map({{"count", scalar("x")},
                               {"limits", map({{"depth", scalar("3")}, {"dept", scalar("1")}})},
                               {"order", scalar("middle")}});
  CHECK(problems_of(node).size() == 4);
  CHECK_THROWS_AS(read_params<Everything>(node), ConfigError);
}

TEST_CASE("a required field must be there and not null") {
  for (const ConfigNode& node : {ConfigNode{}, map({}), map({{"wait", ConfigNode{}}})}) {
    std::vector<Problem> problems;
    read_params<Needed>(node, problems);
    REQUIRE(problems.size() == 1);
    CHECK(problems[0].code == kCodeMissing);
    CHECK(problems[0].remedy == "write a duration, such as 200ms");
  }
  CHECK(read_params<Needed>(map({{"wait", scalar("1s")}})).wait == 1s);
}

TEST_CASE("problems between fields are asked for only when each field is fine") {
  CHECK(problems_of(map({{"count", scalar("13")}})) ==
        std::vector<std::string>{"a.yaml:1:1: spec: count must not be 13 [CFG106]"});
  CHECK(problems_of(map({{"count", scalar("13")}, {"share", scalar("2")}})).size() == 1);
}

TEST_CASE("the description holds what the declaration says") {
  const std::vector<FieldInfo> fields = describe_params<Everything>();
  REQUIRE(fields.size() == 16);
  const FieldInfo& share = fields[2];
  CHECK(share.name == "share");
  CHECK(share.help == "Part of the whole.");
  CHECK(std::string(name_of(share.type)) == "number");
  CHECK(share.default_text == "0.9");
  CHECK(share.minimum == "0");
  CHECK(share.above_minimum);
  CHECK(share.maximum == "1");
  const FieldInfo& wait = fields[4];
  CHECK(wait.default_text == "30s");
  CHECK(wait.maximum == "10min");
  CHECK(std::string(units_of(wait.type)) == "ns, us, ms, s, min, h");
  CHECK(fields[10].choices == std::vector<std::string>{"first", "last"});
  CHECK(fields[10].default_text == "first");
  CHECK(fields[11].list);
  CHECK(fields[11].default_text == "[1, 2]");
  CHECK(fields[12].nullable);
  CHECK(fields[12].default_text == "null");
  CHECK(fields[13].type == FieldType::kObject);
  REQUIRE(fields[13].fields.size() == 2);
  CHECK(fields[13].fields[1].name == "memory");
  CHECK(describe_params<Needed>()[0].required);
  CHECK(describe_params<Needed>()[0].default_text.empty());
}

TEST_CASE("written parameters read back as they were") {
  Everything params;
  params.enabled = false;
  params.share = 1.0 / 3;
  params.label = "010";
  params.wait = Duration{1'234'567'891};
  params.memory_bandwidth = {1.0 / 3};
  params.order = Order::kLast;
  params.pauses = std::vector<Duration>{1s, Duration{1}};
  params.limits.memory = Bytes{1001};
  params.stages.resize(2);
  params.stages[1].depth = 2;
  const ConfigNode written = write_params(params);
  const Everything read = read_params<Everything>(written);
  CHECK(read.enabled == params.enabled);
  CHECK(read.share == params.share);
  CHECK(read.label == params.label);
  CHECK(read.wait == params.wait);
  CHECK(read.memory_bandwidth == params.memory_bandwidth);
  CHECK(read.order == params.order);
  CHECK(read.pauses == params.pauses);
  CHECK(read.limits.memory == params.limits.memory);
  CHECK(read.stages.size() == 2);
  CHECK(read.stages[1].depth == 2);
  CHECK(written.entries.size() == describe_params<Everything>().size());
}

TEST_CASE("null takes an optional default away") {
  Limits limits;
  limits.memory = Bytes{5};
  std::vector<Problem> problems;
  param_detail::read_object(map({{"memory", ConfigNode{}}}), limits, problems);
  CHECK(problems.empty());
  CHECK_FALSE(limits.memory.has_value());
}

}  // namespace
}  // namespace servetwin::params_test
