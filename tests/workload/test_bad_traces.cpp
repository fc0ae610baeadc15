// If this failed, a damaged trace would be read as a shorter or other one, or the message would not name the
// line.
#include <cstring>
#include <filesystem>
#include <zlib.h>
#include <zstd.h>

#include "tests/support/catch.h"
#include "tests/workload/trace_texts.h"

namespace servetwin::test_bad_traces {
namespace {

bool says(const std::string& error, const std::string& part) {
  const bool found = error.find(part) != std::string::npos;
  if (!found) UNSCOPED_INFO("said: " << error);
  return found;
}

std::string csv(const std::string& rows) { return kCsvHeader + rows; }

std::string mooncake(const std::string& input, const std::string& hashes) {
  return "{\"timestamp\": 0, \"input_length\": 10, \"output_length\": 5, \"hash_ids\": [0]}\n"
         "{\"timestamp\": 0, \"input_length\": " +
         input + ", \"output_length\": 5, \"hash_ids\": " + hashes + "}\n";
}

std::string gzip(const std::string& plain) {
  z_stream stream{};
  REQUIRE(deflateInit2(&stream, 9, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string packed(deflateBound(&stream, plain.size()), '\0');
  std::string input = plain;
  stream.next_in = reinterpret_cast<Bytef*>(input.data());
  stream.avail_in = static_cast<uInt>(input.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

std::string zstd(const std::string& plain) {
  std::string packed(ZSTD_compressBound(plain.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), plain.data(), plain.size(), 3));
  return packed;
}

std::string many_rows(int count) {
  std::string text = kCsvHeader;
  for (int i = 0; i < count; ++i) {
    text += std::to_string(i) + "," + std::to_string(1 + i * 7919 % 4000) + "," +
            std::to_string(1 + i % 500) + "\n";
  }
  return text;
}

}  // namespace

TEST_CASE("an unsorted trace names the first line that goes back and by how much") {
  CHECK(says(trace_error_of(csv("1,5,5\n3,5,5\n2.5,5,5\n")),
             "t:4: the time is 500ms before that of line 3 (sort the file, or set sort: true) [TRC006]"));
}

TEST_CASE("bad counts and times name file, line and value") {
  CHECK(says(trace_error_of(csv("0,5,5\n1,-5,5\n")), "t:3: input_tokens is \"-5\""));
  CHECK(says(trace_error_of(csv("0,1e30,5\n")), "t:2: input_tokens is \"1e30\""));
  CHECK(says(trace_error_of(csv("0,nan,5\n")), "t:2: input_tokens is \"nan\""));
  CHECK(says(trace_error_of(csv("0,5.0,5\n")), "t:2: input_tokens is \"5.0\""));
  CHECK(says(trace_error_of(csv("0,99999999999999999999,5\n")), "t:2: input_tokens is"));
  CHECK(says(trace_error_of(csv("0,200000000,5\n")), "t:2: input_tokens is \"200000000\""));
  CHECK(says(trace_error_of(csv("0,0,5\n")), "t:2: the input has 0 tokens"));
  CHECK(says(trace_error_of(csv("0,5,0\n")), "t:2: the output has 0 tokens"));
  CHECK(says(trace_error_of(csv("-1,5,5\n")), "t:2: arrival_s is \"-1\""));
  CHECK(says(trace_error_of(csv("inf,5,5\n")), "t:2: arrival_s is \"inf\""));
  CHECK(says(trace_error_of(csv("1e3,5,5\n")), "t:2: arrival_s is \"1e3\""));
  CHECK(says(trace_error_of(csv("9999999999999,5,5\n")), "t:2: arrival_s is"));
}

TEST_CASE("bad dates name file and line") {
  const std::string header = "TIMESTAMP,ContextTokens,GeneratedTokens\n";
  for (const char* date :
       {"2023-02-29 00:00:00", "2023-13-01 00:00:00", "2023-11-16 24:00:00", "2023-11-16 18:15:60",
        "2023-11-16 18:15:46.", "2023-11-16 18:15:46.1234567890", "1700158546", "2023-11-16",
        "2023-11-16 18:15:46+0100", "2023-11-16 18:15:46 UTC"}) {
    CHECK(says(trace_error_of(header + date + ",5,5\n"), std::string("t:2: TIMESTAMP is \"") + date));
  }
  CHECK(says(trace_error_of(header + "2023-11-16 18:15:46,5,5\n2023-11-16 18:15:47Z,5,5\n"),
             "t:3: some dates have a time zone and some have none"));
}

TEST_CASE("bad columns and separators name the line and the known columns") {
  CHECK(says(trace_error_of(csv("0,5\n")), "t:2: 2 fields where the header has 3"));
  CHECK(says(trace_error_of(csv("0,5,5,5\n")), "t:2: 4 fields where the header has 3"));
  CHECK(says(trace_error_of(csv("0;5;5\n")), "t:2: 1 fields where the header has 3"));
  CHECK(says(trace_error_of(csv("0,\"5\",5\n")), "t:2: quoted fields are not read"));
  CHECK(says(trace_error_of("arrival_s,input_tokens,output_tokens,colour\n"),
             "t:1: unknown column \"colour\""));
  CHECK(says(trace_error_of("arrival_s, input_tokens,output_tokens\n"),
             "t:1: unknown column \" input_tokens\""));
  CHECK(says(trace_error_of("arrival_s,input_tokens\n"), "t:1: a column is missing"));
  CHECK(says(trace_error_of("arrival_s,arrival_ms,input_tokens,output_tokens\n"),
             "t:1: arrival_ms is given twice"));
  CHECK(says(trace_error_of("arrival_s;input_tokens;output_tokens\n"),
             "t:1: no known trace format begins like"));
  CHECK(says(trace_error_of("hello\n"), "[TRC004]"));
}

TEST_CASE("a forced format that does not fit is refused") {
  TraceSpec spec;
  spec.format = TraceFormatKind::kAzureCsv;
  CHECK(says(trace_error_of(csv("0,5,5\n"), spec), "t:1: unknown column \"arrival_s\""));
  spec.format = TraceFormatKind::kMooncakeJsonl;
  CHECK(says(trace_error_of(csv("0,5,5\n"), spec), "t:1: the line is no JSON object"));
}

TEST_CASE("an unknown class names the declared ones") {
  CHECK(says(trace_error_of("arrival_s,input_tokens,output_tokens,class\n0,5,5,chta\n"),
             "t:2: unknown class \"chta\" (declare it under workload.classes; there are: default)"));
}

TEST_CASE("a Mooncake row whose hash count does not fit its length says both") {
  CHECK(says(trace_error_of(mooncake("20", "[0, 1]")), "t:2: 20 tokens need 1 id of 512, 2 given"));
  CHECK(says(trace_error_of(mooncake("1025", "[0, 1]")), "t:2: 1025 tokens need 3 ids of 512, 2 given"));
}

TEST_CASE("Mooncake values that are no whole numbers are refused, floats above 2^53 among them") {
  CHECK(says(trace_error_of(mooncake("20", "[9007199254740993.0]")), "t:2: hash_ids[0] is no whole number"));
  CHECK(says(trace_error_of(mooncake("20", "[1e20]")), "t:2: hash_ids[0] is no whole number"));
  CHECK(says(trace_error_of(mooncake("20", "[-1]")), "t:2: hash_ids[0] is no whole number"));
  CHECK(says(trace_error_of(mooncake("20", "[4611686018427387904]")), "t:2: hash_ids[0] is no whole number"));
  CHECK(says(trace_error_of(mooncake("20", "7")), "t:2: hash_ids is no list"));
  CHECK(says(trace_error_of(mooncake("1e30", "[0]")), "t:2: input_length is no whole number"));
  CHECK(says(trace_error_of(mooncake("-20", "[0]")), "t:2: input_length is no whole number"));
  CHECK(says(trace_error_of(mooncake("0", "[]")), "t:2: the input has 0 tokens"));
  CHECK(says(trace_error_of(mooncake("20, \"x\": 1", "[0]")), "t:2: unknown key \"x\""));
  CHECK(
      says(trace_error_of(mooncake("20, \"input_length\": 20", "[0]")), "t:2: input_length is given twice"));
  CHECK(says(trace_error_of("{\"timestamp\": 0}\n"), "t:1: input_length is missing"));
  CHECK(
      says(trace_error_of(mooncake("20", "[0]") + "{\"timestamp\": \n"), "t:3: the line is no JSON object"));
  CHECK(rows_of(mooncake("20", "[9007199254740993]"))[1].spec.content[0].stream == 9007199254740993U);
}

TEST_CASE("skipping bad rows counts them and quotes the first") {
  TraceSpec spec;
  spec.on_bad_row = OnBadRow::kSkip;
  const std::string text = csv("0,5,5\n1,-1,5\n2,5,0\n3,6,5\n");
  const auto source = trace_of(text, spec);
  const auto rows = take_all(*source);
  REQUIRE(rows.size() == 2);
  CHECK(rows[1].spec.prompt == Tokens{6});
  CHECK(source->facts().rows == 4);
  CHECK(source->facts().skipped == 2);
  CHECK(says(source->describe(), "2 bad rows left out; the first: t:3: input_tokens is \"-1\""));
}

TEST_CASE("NUL bytes and endless lines are refused by line") {
  CHECK(says(trace_error_of(csv("0,5,5\n") + std::string("1,5\0,5\n", 7)), "t:3: there is a NUL byte"));
  const std::string endless = csv("0,5,5\n") + std::string(100 << 20, '1');
  CHECK(says(trace_error_of(endless), "t:3: the line is longer than 1048576 bytes"));
}

TEST_CASE("an empty trace, and one without a usable row, are refused") {
  CHECK(says(trace_error_of(""), "the trace is empty"));
  CHECK(says(trace_error_of("\n \n"), "the trace is empty"));
  CHECK(says(trace_error_of(kCsvHeader), "the trace holds no usable request"));
}

TEST_CASE("missing files and folders are refused by name") {
  CHECK(says(error_of([] { read_file("no/such/trace.csv"); }), "no/such/trace.csv: there is no such file"));
  CHECK(says(error_of([] { read_file("/"); }), "/: is not a regular file"));
}

TEST_CASE("gzip and zstd traces equal the plain one, whatever the name says") {
  const std::string plain = many_rows(20'000);
  const auto expected = rows_of(plain);
  REQUIRE(expected.size() == 20'000);
  for (const std::string& packed :
       {gzip(plain), zstd(plain), gzip(plain.substr(0, 1000)) + gzip(plain.substr(1000)),
        zstd(plain.substr(0, 1000)) + zstd(plain.substr(1000))}) {
    const auto rows = rows_of(packed);
    REQUIRE(rows.size() == expected.size());
    bool equal = true;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      equal = equal && rows[i].spec.arrival == expected[i].spec.arrival &&
              rows[i].spec.prompt == expected[i].spec.prompt &&
              rows[i].truth.output == expected[i].truth.output;
    }
    CHECK(equal);
  }
}

TEST_CASE("compressed data cut short at any point are an error, not a shorter trace") {
  const std::string plain = many_rows(300);
  for (const std::string& packed : {gzip(plain), zstd(plain)}) {
    for (std::size_t size = 4; size < packed.size(); size += 7) {
      CHECK(says(trace_error_of(packed.substr(0, size)), "truncated"));
    }
    CHECK(says(trace_error_of(packed.substr(0, packed.size() - 1)), "truncated"));
    std::string damaged = packed;
    damaged[packed.size() / 2] = static_cast<char>(damaged[packed.size() / 2] ^ 0x55);
    CHECK_FALSE(trace_error_of(damaged + "rubbish").empty());
  }
}

TEST_CASE("a bomb is stopped by its ratio and by its size") {
  const std::string zeros = csv(std::string(64 << 20, '\n'));
  for (const std::string& packed : {gzip(zeros), zstd(zeros)}) {
    CHECK(says(trace_error_of(packed), "expands more than 250 times"));
  }
  ExpansionLimits limits;
  limits.max_bytes = 1000;
  const std::string packed = gzip(many_rows(1000));
  auto bytes = decompressed(read_memory(packed), "t", limits);
  char buffer[4096];
  CHECK(says(error_of([&] {
               while (bytes.reader->read(buffer, sizeof buffer) > 0) {
               }
             }),
             "expands to more than 1000 bytes"));
}

}  // namespace servetwin::test_bad_traces
