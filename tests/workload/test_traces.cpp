// If this failed, a recorded trace would be replayed with other times, lengths or shared content than it
// records.
#include <cmath>
#include <filesystem>
#include <fstream>

#include "tests/support/catch.h"
#include "tests/workload/trace_texts.h"

namespace servetwin::test_traces {
namespace {

std::string fixture(const char* name) {
  return std::string(SERVETWIN_SOURCE_DIR) + "/tests/workload/fixtures/" + name;
}

std::unique_ptr<RequestSource> file_source(const std::string& path) {
  return source_of(text("trace:" + path));
}

// Empty, with a warning, where the folder of recorded data is not there.
std::string data_file(const std::string& name) {
  const std::string path = std::string(SERVETWIN_DATA_DIR) + "/" + name;
  if (std::filesystem::exists(path)) return path;
  WARN("SKIPPED: there is no " << path);
  return "";
}

Tokens content_length(const RequestSpec& spec) {
  Tokens sum{};
  for (const ContentSegment& segment : spec.content) sum += segment.length;
  return sum;
}

}  // namespace

TEST_CASE("a CSV trace gives its rows with exact times, the first at zero") {
  const auto rows = rows_of(kCsvHeader + "10.5,374,44\n10.500000001,396,109\n12,879,55\n");
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].spec.arrival == kTimeZero);
  CHECK(rows[1].spec.arrival == time_at_ns(1));
  CHECK(rows[2].spec.arrival == time_at_ns(1'500'000'000));
  CHECK(rows[2].spec.prompt == Tokens{879});
  CHECK(rows[2].truth.output == Tokens{55});
  CHECK(rows[2].spec.id == RequestId{2});
  CHECK(rows[2].spec.content.empty());
}

TEST_CASE("time units are named by the column, down to the nanosecond") {
  for (const char* header : {"arrival_ms", "arrival_us", "arrival_ns"}) {
    const auto source = trace_of(std::string(header) + ",input_tokens,output_tokens\n0,1,1\n7,1,1\n");
    WorkloadItem item;
    source->take(item);
    const std::int64_t unit = header[8] == 'm' ? 1'000'000 : header[8] == 'u' ? 1'000 : 1;
    CHECK(to_ns(source->next_arrival()) == 7 * unit);
  }
}

TEST_CASE("optional CSV columns reach the request") {
  TraceParts parts = trace_parts();
  parts.classes.emplace_back(TrafficSpec{}, ClassId{1}, 0U, 1U);
  parts.class_names = {"chat", "batch"};
  const std::string csv =
      "arrival_s,input_tokens,output_tokens,class,priority,tenant,adapter,session\n"
      "0,10,5,batch,-3,7,2,41\n0,10,5,,,,,\n";
  TraceSource source(decompressed(read_memory(csv), "t"), "t", std::move(parts));
  const auto rows = take_all(source);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].spec.traffic_class == ClassId{1});
  CHECK(rows[0].spec.priority == -3);
  CHECK(rows[0].spec.tenant == TenantId{7});
  CHECK(rows[0].spec.adapter == AdapterId{2});
  CHECK(rows[0].spec.session == SessionId{41});
  CHECK(rows[1].spec.traffic_class == ClassId{0});
  CHECK(rows[1].spec.adapter == kNoAdapter);
  CHECK(rows[1].spec.session == kNoSession);
}

TEST_CASE("a raw Azure file is read across midnight, with CRLF, 7-digit fractions and no final newline") {
  const auto source = file_source(fixture("azure_raw.csv"));
  const auto rows = take_all(*source);
  REQUIRE(rows.size() == 4);
  CHECK(rows[1].spec.arrival == kTimeZero);
  CHECK(to_ns(rows[2].spec.arrival) == 2'541'699'100);
  CHECK(to_ns(rows[3].spec.arrival) == 2'541'699'200);
  CHECK(rows[3].spec.prompt == Tokens{91});
  CHECK(rows[3].truth.output == Tokens{16});
  CHECK(source->describe().find("azure_csv (detected), plain, times in dates without zone") !=
        std::string::npos);
}

TEST_CASE("dates with zones are compared in one time") {
  const auto rows = rows_of(
      "TIMESTAMP,ContextTokens,GeneratedTokens\n"
      "2024-02-29 23:59:59+00:00,1,1\n2024-03-01T01:00:00.5+01:00,1,1\n");
  REQUIRE(rows.size() == 2);
  CHECK(to_ns(rows[1].spec.arrival) == 1'500'000'000);
}

TEST_CASE("BurstGPT files of both ages are read, and failed rows are left out and counted") {
  const auto source = file_source(fixture("burstgpt.csv"));
  const auto rows = take_all(*source);
  REQUIRE(rows.size() == 3);
  CHECK(to_ns(rows[2].spec.arrival) == 113'500'000'000);
  CHECK(rows[2].spec.prompt == Tokens{1360});
  CHECK(rows[2].spec.session == SessionId{101});
  CHECK(source->facts().rows == 4);
  CHECK(source->facts().skipped == 1);
  CHECK(source->describe().find("1 rows left out: 0 response tokens") != std::string::npos);
  const auto older = take_all(*file_source(fixture("burstgpt_older.csv")));
  REQUIRE(older.size() == 2);
  CHECK(older[1].spec.session == kNoSession);
}

TEST_CASE("Mooncake hashes become segments, the last one as long as what remains") {
  const auto rows = rows_of(
      "{\"timestamp\": 5, \"input_length\": 756, \"output_length\": 20, \"hash_ids\": [11, 12]}\n"
      "{\"timestamp\": 60005, \"input_length\": 1024, \"output_length\": 1, \"hash_ids\": [11, 12]}\n");
  REQUIRE(rows.size() == 2);
  CHECK(rows[1].spec.arrival == kTimeZero + std::chrono::seconds(60));
  REQUIRE(rows[0].spec.content.size() == 2);
  CHECK(rows[0].spec.content[0].stream == 11);
  CHECK(rows[0].spec.content[0].length == Tokens{512});
  CHECK(rows[0].spec.content[1].stream == 12);
  CHECK(rows[0].spec.content[1].length == Tokens{244});
  CHECK(rows[1].spec.content[1].length == Tokens{512});
  CHECK_FALSE(rows[0].spec.continues_content);
}

TEST_CASE("equal times keep the order of the file") {
  const auto rows = rows_of(kCsvHeader + "1,3,1\n1,2,1\n1,1,1\n");
  CHECK(rows[0].spec.prompt == Tokens{3});
  CHECK(rows[2].spec.prompt == Tokens{1});
}

TEST_CASE("sorting is stable and starts the clock at the earliest row") {
  TraceSpec spec;
  spec.sort = true;
  const auto rows = rows_of(kCsvHeader + "9,4,1\n5,3,1\n9,2,1\n5,1,1\n", spec);
  REQUIRE(rows.size() == 4);
  CHECK(rows[0].spec.prompt == Tokens{3});
  CHECK(rows[1].spec.prompt == Tokens{1});
  CHECK(rows[2].spec.prompt == Tokens{4});
  CHECK(rows[2].spec.arrival == kTimeZero + std::chrono::seconds(4));
}

TEST_CASE("window, scales and limits select and stretch the trace") {
  const std::string csv = kCsvHeader + "100,1,1\n110,2,1\n120,3,1\n130,4,1\n140,5,1\n";
  TraceSpec spec;
  spec.start = std::chrono::seconds(10);
  spec.end = std::chrono::seconds(40);
  spec.rate_scale = 4;
  auto rows = rows_of(csv, spec);
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].spec.prompt == Tokens{2});
  CHECK(rows[0].spec.arrival == kTimeZero);
  CHECK(to_ns(rows[2].spec.arrival) == 5'000'000'000);
  spec.max_requests = 2;
  spec.time_scale = 8;
  rows = rows_of(csv, spec);
  REQUIRE(rows.size() == 2);
  CHECK(to_ns(rows[1].spec.arrival) == 20'000'000'000);
}

TEST_CASE("BOM, CRLF, blank lines, a trailing comma and a missing last newline are accepted") {
  const auto plain = rows_of(kCsvHeader + "1,3,1\n2,2,1\n");
  const auto odd = rows_of(
      "\xef\xbb\xbf"
      "arrival_s,input_tokens,output_tokens,\r\n\r\n1,3,1,\r\n  \r\n2,2,1,");
  REQUIRE(odd.size() == plain.size());
  CHECK(odd[1].spec.arrival == plain[1].spec.arrival);
  CHECK(odd[1].spec.prompt == plain[1].spec.prompt);
}

TEST_CASE("a trace depends on its content alone: the identity tells bytes, rows and digest") {
  const std::string csv = kCsvHeader + "1,3,1\n2,2,1\n";
  const auto a = trace_of(csv);
  const auto b = trace_of(csv);
  const std::string changed = kCsvHeader + "1,3,1\n2,2,2\n";
  const auto c = trace_of(changed);
  for (TraceSource* source : {a.get(), b.get(), c.get()}) take_all(*source);
  CHECK(a->facts().content == b->facts().content);
  CHECK(a->facts().content != c->facts().content);
  CHECK(a->facts().content.find("t, servetwin_csv, 49 bytes, 2 rows, digest ") == 0);
}

TEST_CASE("the recorded Azure conversation trace is read whole") {
  const std::string path = data_file("traces_azure2023/conv.csv");
  if (path.empty()) return;
  const auto source = file_source(path);
  const auto rows = take_all(*source);
  CHECK(rows.size() == 19'366);
  double input = 0;
  double output = 0;
  for (const WorkloadItem& row : rows) {
    input += static_cast<double>(row.spec.prompt.value) / 19'366;
    output += static_cast<double>(row.truth.output.value) / 19'366;
    CHECK(row.spec.max_tokens == Tokens{4096});
  }
  CHECK(std::abs(input - 1155) < 0.5);
  CHECK(std::abs(output - 211) < 0.5);
  CHECK(source->facts().skipped == 0);
}

TEST_CASE("the recorded Mooncake conversation trace is read whole, with content for every token") {
  const std::string path = data_file("traces_mooncake/conversation_trace.jsonl");
  if (path.empty()) return;
  const auto rows = take_all(*file_source(path));
  CHECK(rows.size() == 12'031);
  double input = 0;
  std::int64_t one_token = 0;
  for (const WorkloadItem& row : rows) {
    input += static_cast<double>(row.spec.prompt.value) / 12'031;
    if (row.truth.output == Tokens{1}) ++one_token;
    CHECK(content_length(row.spec) == row.spec.prompt);
  }
  CHECK(std::abs(input - 12'035) < 1);
  CHECK(one_token == 72);
}

}  // namespace servetwin::test_traces
