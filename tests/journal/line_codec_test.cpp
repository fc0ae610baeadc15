// If these fail, a journal does not say what happened: lines lose facts, or wrong lines are taken for good
// ones.
#include <limits>
#include <rapidcheck.h>

#include "tests/journal/journal_test_support.h"
#include "tests/support/catch.h"

namespace servetwin::line_codec_test {
namespace {

template <class T>
T arbitrary() {
  return *rc::gen::arbitrary<T>();
}

std::int64_t between(std::int64_t low, std::int64_t high) {
  return *rc::gen::inRange<std::int64_t>(low, high + 1);
}

RequestSpec any_request() {
  RequestSpec request;
  request.id = RequestId{arbitrary<std::uint32_t>()};
  request.arrival = time_at_ns(between(0, std::int64_t{1} << 50));
  request.max_tokens = Tokens{between(1, 1 << 20)};
  request.priority = arbitrary<std::int32_t>();
  request.traffic_class = static_cast<ClassId>(between(0, kMaxClasses - 1));
  request.stat_group = static_cast<std::uint8_t>(between(0, kMaxStatGroups - 1));
  request.tenant = TenantId{arbitrary<std::uint16_t>()};
  request.adapter = AdapterId{arbitrary<std::uint16_t>()};
  request.waits_for = static_cast<WaitsFor>(between(0, 31));
  request.session = SessionId{arbitrary<std::uint32_t>()};
  request.cache_salt = arbitrary<std::uint64_t>();
  request.told_outputs = *rc::gen::inRange(0, 1 << 20);
  request.continues_content = arbitrary<bool>();
  const auto streams = arbitrary<std::vector<std::uint64_t>>();
  for (const std::uint64_t stream : streams) request.content.push_back({stream, Tokens{between(1, 4096)}});
  for (const ContentSegment& segment : request.content) request.prompt += segment.length;
  if (request.content.empty()) request.prompt = Tokens{between(1, 1 << 20)};
  return request;
}

Event any_event() {
  const RequestId request{arbitrary<std::uint32_t>()};
  const ReplicaId replica{arbitrary<std::uint16_t>()};
  const StepId step{arbitrary<std::uint64_t>()};
  const bool yes = arbitrary<bool>();
  switch (between(0, 8)) {
    case 0:
      return Cancelled{request, *rc::gen::element(EndReason::kClient, EndReason::kDeadline,
                                                  EndReason::kQueueTimeout, EndReason::kTtftTimeout)};
    case 1:
      return SequenceOut{request, step, yes ? EndState::kStop : EndState::kFailed};
    case 2:
      return StepDone{replica, step, arbitrary<std::uint32_t>()};
    case 3:
      return Ready{request, static_cast<WaitsFor>(between(0, 31)), yes};
    case 4:
      return ReplicaChanged{replica, static_cast<ReplicaState>(between(0, 3))};
    case 5:
      return ClientWindow{request, yes};
    case 6:
      return Admin{replica, static_cast<AdminAction>(between(0, 4))};
    case 7:
      return Arrived{request};
    default:
      return PlanDue{replica};
  }
}

// Field by field, so that a fact the text leaves out is missed.
bool same(const Event& a, const Event& b) {
  return std::visit(
      [](const auto& x, const auto& y) {
        using X = std::decay_t<decltype(x)>;
        if constexpr (!std::is_same_v<X, std::decay_t<decltype(y)>>) {
          return false;
        } else if constexpr (std::is_same_v<X, Cancelled>) {
          return x.request == y.request && x.why == y.why;
        } else if constexpr (std::is_same_v<X, SequenceOut>) {
          return x.request == y.request && x.step == y.step && x.end == y.end;
        } else if constexpr (std::is_same_v<X, StepDone>) {
          return x.replica == y.replica && x.step == y.step && x.ran == y.ran;
        } else if constexpr (std::is_same_v<X, Ready>) {
          return x.request == y.request && x.what == y.what && x.ok == y.ok;
        } else if constexpr (std::is_same_v<X, ReplicaChanged>) {
          return x.replica == y.replica && x.state == y.state;
        } else if constexpr (std::is_same_v<X, ClientWindow>) {
          return x.request == y.request && x.open == y.open;
        } else if constexpr (std::is_same_v<X, Admin>) {
          return x.replica == y.replica && x.action == y.action;
        } else if constexpr (std::is_same_v<X, Arrived>) {
          return x.request == y.request;
        } else {
          return x.replica == y.replica;
        }
      },
      a, b);
}

bool same(const RequestSpec& a, const RequestSpec& b) {
  const auto key = [](const RequestSpec& r) {
    return std::tuple{
        r.id,     r.arrival, r.prompt,    r.max_tokens, r.priority,   r.traffic_class,     r.stat_group,
        r.tenant, r.adapter, r.waits_for, r.session,    r.cache_salt, r.continues_content, r.told_outputs};
  };
  return key(a) == key(b) &&
         std::equal(a.content.begin(), a.content.end(), b.content.begin(), b.content.end(),
                    [](const ContentSegment& x, const ContentSegment& y) {
                      return x.stream == y.stream && x.length == y.length;
                    });
}

template <class Line>
Line decoded(std::string text) {
  JournalLine line;
  text.pop_back();
  const std::string problem = decode_line(text, line);
  INFO(text);
  REQUIRE(problem.empty());
  return std::get<Line>(line);
}

std::string problem_of(const std::string& text) {
  JournalLine line;
  return decode_line(text, line);
}

}  // namespace

TEST_CASE("any request row reads back as it was written") {
  REQUIRE(rc::check([] {
    const RequestSpec request = any_request();
    RC_ASSERT(same(decoded<RequestSpec>(lines_text(request)), request));
  }));
}

TEST_CASE("any event reads back as it was written") {
  REQUIRE(rc::check([] {
    JournalEvent event = event_at(between(0, std::int64_t{1} << 62), any_event());
    event.stamped.nth = arbitrary<std::uint32_t>();
    if (kind_of(event.stamped.event) == EventKind::kPlanDue) {
      event.started = StepId{arbitrary<std::uint64_t>()};
      event.late = Duration{between(0, 1 << 30)};
    }
    const auto read = decoded<JournalEvent>(lines_text(event));
    RC_ASSERT(same(read.stamped.event, event.stamped.event));
    RC_ASSERT(read.stamped.time == event.stamped.time);
    RC_ASSERT(read.stamped.nth == event.stamped.nth);
    RC_ASSERT(read.started == event.started);
    RC_ASSERT(read.late == event.late);
  }));
}

TEST_CASE("a header keeps every character of its scenario") {
  JournalHeader header;
  header.scenario = "kind: Scenario\n\tname: \"\\é\"\x01\n";
  header.profile_hash = "a";
  header.estimator_hash = "b";
  header.build = "c";
  header.engine = "d";
  header.seed = std::numeric_limits<std::uint64_t>::max();
  header.replicas = 3;
  CHECK(decoded<JournalHeader>(lines_text(header)) == header);
}

TEST_CASE("a footer keeps all bits of the digests") {
  const JournalFooter footer{
      .complete = true, .events = 7, .decisions = 0x00f0000000000001ULL, .timeline = ~0ULL};
  CHECK(decoded<JournalFooter>(lines_text(footer)) == footer);
}

TEST_CASE("a line that is not as the format says is refused with its reason") {
  CHECK(problem_of("") != "");
  CHECK(problem_of("5") != "");
  CHECK(problem_of("[1]") != "");
  CHECK(problem_of(R"({"t":1,"e":"arrive","q":1)").find("not JSON") == 0);
  CHECK(problem_of(R"({"t":1,"e":"arrive","q":1}x)").find("not JSON") == 0);
  CHECK(problem_of(R"({"t":1,"e":"arrive"})") == "the key \"q\" is missing");
  CHECK(problem_of(R"({"t":1,"e":"arrive","q":1,"z":1})") == "unknown key \"z\"");
  CHECK(problem_of(R"({"t":1,"t":2,"e":"arrive","q":1})") == "the key \"t\" stands twice");
  CHECK(problem_of(R"({"t":-1,"e":"arrive","q":1})") == "\"t\" must be a whole number, 0 or more");
  CHECK(problem_of(R"({"t":1.5,"e":"arrive","q":1})").find("1.5 is not a whole number") == 0);
  CHECK(problem_of(R"({"t":1,"e":"arrive","q":4294967296})").find("\"q\" is 4294967296") == 0);
  CHECK(problem_of(R"({"t":1,"e":"arrives","q":1})") ==
        "\"e\" is \"arrives\", which this version does not know");
  CHECK(problem_of(R"({"q":1,"a":0,"p":0,"m":1})") == "\"p\" must be at least 1");
  CHECK(problem_of(R"({"q":1,"a":0,"p":4,"m":1,"c":[9,5]})") ==
        "the lengths in \"c\" sum to more than the prompt");
  CHECK(problem_of(R"({"q":1,"a":0,"p":4,"m":1,"c":[9,3]})") ==
        "the lengths in \"c\" sum to less than the prompt");
  CHECK(problem_of(R"({"q":{"q":1}})") == "an object inside the line's object");
  CHECK(problem_of(R"({"complete":true,"events":1,"decisions":"xyz","timeline":"0000000000000000"})")
            .find("\"decisions\"") == 0);
  CHECK(problem_of(std::string(200'000, '[')) != "");
}

}  // namespace servetwin::line_codec_test
