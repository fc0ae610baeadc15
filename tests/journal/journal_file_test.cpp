// If these fail, a journal is lost or believed where it must not be: torn ends, damage, other versions, full
// disks.
#include <csignal>
#include <sys/resource.h>

#include "engine/base/error.h"
#include "tests/journal/journal_test_support.h"
#include "tests/support/catch.h"

namespace servetwin::journal_file_test {
namespace {

StepPlan plan_of(StepId step, std::int64_t ns) {
  StepPlan plan;
  plan.step = step;
  plan.time = time_at_ns(ns);
  plan.shape.tokens = 1;
  return plan;
}

// One request that runs `steps` steps.
void record(JournalWriter& writer, std::uint64_t steps) {
  writer.add_request(small_request(0));
  writer.on_event({kTimeZero, Arrived{RequestId{0}}});
  std::int64_t now = 0;
  for (std::uint64_t i = 1; i <= steps; ++i) {
    writer.on_event({time_at_ns(now), PlanDue{ReplicaId{0}}});
    writer.on_plan(plan_of(StepId{i}, now));
    now += 12'345'678;
    writer.on_event({time_at_ns(now), StepDone{ReplicaId{0}, StepId{i}, 1}});
  }
}

Problem problem_of(const ScratchFile& file) {
  try {
    JournalReader reader(file.path());
    read_text(reader);
  } catch (const ConfigError& error) {
    return error.problems().front();
  }
  return {};
}

}  // namespace

TEST_CASE("a closed journal reads back whole, complete and with its digests") {
  const ScratchFile file("whole");
  JournalWriter writer(file.path(), {.scenario = "kind: Scenario", .seed = 7});
  record(writer, 2);
  writer.close({.complete = true, .decisions = 1, .timeline = 2});

  JournalReader reader(file.path());
  CHECK(reader.header().scenario == "kind: Scenario");
  CHECK(read_text(reader) == lines_text(small_request(0), event_at(0, Arrived{RequestId{0}}),
                                        event_at(0, PlanDue{ReplicaId{0}}, StepId{1}),
                                        event_at(12'345'678, StepDone{ReplicaId{0}, StepId{1}, 1}),
                                        event_at(12'345'678, PlanDue{ReplicaId{0}}, StepId{2}),
                                        event_at(24'691'356, StepDone{ReplicaId{0}, StepId{2}, 1})));
  CHECK(reader.complete());
  CHECK_FALSE(reader.torn());
  CHECK(reader.end_text().empty());
  CHECK(reader.footer() == JournalFooter{.complete = true, .events = 5, .decisions = 1, .timeline = 2});
}

TEST_CASE("steps that a shortcut ran at once are recorded one by one") {
  const ScratchFile file("shortcut");
  JournalWriter writer(file.path(), {});
  writer.on_event({kTimeZero, PlanDue{ReplicaId{0}}});
  writer.on_plan(plan_of(StepId{1}, 0));
  writer.on_step_done(ReplicaId{0}, StepId{1}, {}, kTimeZero, time_at_ns(10));
  writer.on_plan(plan_of(StepId{2}, 10));
  writer.on_event({time_at_ns(20), StepDone{ReplicaId{0}, StepId{2}, 2}});
  writer.on_step_done(ReplicaId{0}, StepId{2}, {}, time_at_ns(10), time_at_ns(20));
  writer.close({});
  JournalReader reader(file.path());
  CHECK(read_text(reader) == lines_text(event_at(0, PlanDue{ReplicaId{0}}, StepId{1}),
                                        event_at(10, StepDone{ReplicaId{0}, StepId{1}, 1}),
                                        event_at(10, PlanDue{ReplicaId{0}}, StepId{2}),
                                        event_at(20, StepDone{ReplicaId{0}, StepId{2}, 1})));
}

TEST_CASE("how late a plan came counts from the time asked for") {
  const ScratchFile file("late");
  JournalWriter writer(file.path(), {});
  writer.plan_asked(ReplicaId{0}, time_at_ns(100));
  writer.on_event({time_at_ns(130), PlanDue{ReplicaId{0}}});
  writer.close({});
  JournalReader reader(file.path());
  JournalEntry entry;
  REQUIRE(reader.next(entry));
  CHECK(std::get<JournalEvent>(entry).late == Duration{30});
}

TEST_CASE("a journal torn at any byte gives all its whole frames and says what is lost") {
  const ScratchFile file("torn");
  std::vector<std::size_t> ends;  // file size after each frame
  std::vector<std::string> texts = {""};
  {
    JournalWriter writer(file.path(), {});
    ends.push_back(writer.bytes_written());
    for (std::uint32_t i = 0; i < 3; ++i) {
      writer.add_request(small_request(i));
      writer.on_event({time_at_ns(i), Arrived{RequestId{i}}});
      writer.flush();
      ends.push_back(writer.bytes_written());
      texts.push_back(texts.back() + lines_text(small_request(i), event_at(i, Arrived{RequestId{i}})));
    }
  }
  const std::string whole = file.bytes();
  REQUIRE(whole.size() == ends.back());
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    INFO("cut at byte " << size);
    file.set_bytes(std::string_view(whole).substr(0, size));
    if (size < ends.front()) {
      CHECK(problem_of(file).code == "JRN001");
      continue;
    }
    std::size_t frames = 0;
    while (frames + 1 < ends.size() && ends[frames + 1] <= size) ++frames;
    JournalReader reader(file.path());
    CHECK(read_text(reader) == texts[frames]);
    CHECK(reader.torn() == (size != ends[frames]));
    CHECK(reader.lost_bytes() == size - ends[frames]);
    CHECK_FALSE(reader.complete());
    CHECK_FALSE(reader.end_text().empty());
  }
}

TEST_CASE("no flipped bit goes unnoticed") {
  const ScratchFile file("flipped");
  {
    JournalWriter writer(file.path(), {});
    record(writer, 3);
    writer.close({.complete = true});
  }
  std::string good_text;
  {
    JournalReader reader(file.path());
    good_text = read_text(reader);
  }
  const std::string whole = file.bytes();
  for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    std::string flipped = whole;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    file.set_bytes(flipped);
    INFO("bit " << bit);
    try {
      JournalReader reader(file.path());
      const std::string text = read_text(reader);
      CHECK((text == good_text || !reader.complete()));
    } catch (const ConfigError& error) {
      CHECK(error.problems().front().code.substr(0, 3) == "JRN");
    }
  }
}

TEST_CASE("an unknown version is refused by name, whatever else its header holds") {
  const ScratchFile file("version");
  file.set_frames({"{\"journal\":7,\"colour\":\"blue\"}\n"});
  const Problem problem = problem_of(file);
  CHECK(problem.code == "JRN002");
  CHECK(problem.message == "journal version 7 is unknown; this build reads version 1");
}

TEST_CASE("a broken line is named by its number") {
  const ScratchFile file("line");
  const std::string header = lines_text(JournalHeader{});
  file.set_frames({header, lines_text(small_request(0)) + "{\"t\":1,\"e\":\n"});
  CHECK(problem_of(file).place.line == 3);
  CHECK(problem_of(file).code == "JRN004");
  CHECK(problem_of(file).place.file == file.path());
  const auto message_of = [&](const std::string& text) {
    file.set_frames({header, text});
    return problem_of(file).message;
  };
  CHECK(message_of(lines_text(event_at(0, Arrived{RequestId{0}}))) ==
        "request 0 has no row before its event");
  CHECK(message_of(lines_text(event_at(0, PlanDue{ReplicaId{1}}))) == "replica 1 of 1, counted from 0");
  CHECK(message_of(lines_text(small_request(1), small_request(1))) == "request 1 after request 1");
  CHECK(message_of(lines_text(JournalHeader{})) == "a second header");
  CHECK(message_of(lines_text(JournalFooter{.events = 1})) ==
        "the footer counts 1 events, the journal holds 0");
  CHECK(message_of(lines_text(JournalFooter{}, small_request(0))) == "a line after the footer");
  CHECK(message_of("{\"q\":1") == "a frame ends within a line");
}

TEST_CASE("what is no journal is said to be none") {
  const ScratchFile file("foreign");
  file.set_bytes("TIMESTAMP,ContextTokens,GeneratedTokens\n");
  CHECK(problem_of(file).code == "JRN003");
  file.set_bytes("");
  CHECK(problem_of(file).code == "JRN001");
  file.set_frames({lines_text(small_request(0))});
  CHECK(problem_of(file).code == "JRN001");
  CHECK_THROWS_AS(JournalReader(file.path() + ".absent"), IoError);
  CHECK_THROWS_AS(JournalReader(std::filesystem::temp_directory_path().string()), IoError);
}

TEST_CASE("a frame that expands without end and a line without end are refused") {
  const ScratchFile file("bomb");
  const std::string header = lines_text(JournalHeader{});
  file.set_frames({header, std::string(std::size_t{100} << 20, ' ')});
  CHECK(problem_of(file).code == "JRN005");
  std::string line(std::size_t{1'000'000}, ' ');
  line += '\n';
  file.set_frames({header, line});
  JournalLimits limits;
  limits.max_line_bytes = 1000;
  JournalReader reader(file.path(), limits);
  CHECK_THROWS_WITH(read_text(reader), Catch::Contains("a line of 1000000 bytes"));
}

TEST_CASE("a device without room is an IoError that names the file and the bytes") {
  CHECK_THROWS_AS(JournalWriter("/dev/full", {}), IoError);
  CHECK_THROWS_WITH(JournalWriter("/dev/full", {}), Catch::Contains("/dev/full: cannot be written after"));
  CHECK_THROWS_AS(JournalWriter("/nowhere/journal", {}), IoError);
}

TEST_CASE("a disk that fills up during the run is an IoError, and what was flushed before is whole") {
  const ScratchFile file("full");
  JournalWriter writer(file.path(), {});
  record(writer, 1);
  writer.flush();
  rlimit old_limit{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &old_limit) == 0);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit = old_limit;
  limit.rlim_cur = static_cast<rlim_t>(writer.bytes_written());
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &limit) == 0);
  writer.add_request(small_request(1));
  CHECK_THROWS_AS(writer.flush(), IoError);
  ::setrlimit(RLIMIT_FSIZE, &old_limit);
  std::signal(SIGXFSZ, old_handler);
  JournalReader reader(file.path());
  CHECK(read_text(reader).size() > 0);
  CHECK_FALSE(reader.complete());
}

TEST_CASE("a step costs at most 200 bytes of text, with its share of cancels, ends and arrivals") {
  // A day into a run of sixteen replicas, numbers as long as they get; every step ends a request and sees one
  // arrive.
  const std::int64_t day = std::int64_t{86'400} * 1'000'000'000;
  const StepId step{9'876'543};
  const RequestId request{123'456'789};
  const std::string text =
      lines_text(event_at(day, PlanDue{ReplicaId{15}}, step), event_at(day, StepDone{ReplicaId{15}, step, 1}),
                 event_at(day, Arrived{request}));
  CHECK(text.size() <= 200);
  const ScratchFile file("bytes");
  JournalWriter writer(file.path(), {});
  record(writer, 100'000);
  writer.close({});
  CHECK(writer.bytes_written() / 100'000 <= 20);
}

TEST_CASE("the same run writes the same bytes") {
  const ScratchFile first("first");
  const ScratchFile second("second");
  for (const ScratchFile* file : {&first, &second}) {
    JournalWriter writer(file->path(), {});
    record(writer, 20'000);
    writer.close({.complete = true});
  }
  CHECK(first.bytes() == second.bytes());
}

}  // namespace servetwin::journal_file_test
