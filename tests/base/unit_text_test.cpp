// If this fails, a number in a scenario means something else than was written, or its error helps nobody.
#include "engine/base/unit_text.h"

#include <limits>
#include <rapidcheck.h>

#include "engine/base/text.h"
#include "tests/support/catch.h"

namespace servetwin::unit_text_test {
namespace {

using Limits = std::numeric_limits<std::int64_t>;

TEST_CASE("whole numbers read in every plain way of writing them") {
  CHECK(parse_integer("4096").value == 4096);
  CHECK(parse_integer("1_000").value == 1000);
  CHECK(parse_integer("1e6").value == 1'000'000);
  CHECK(parse_integer("2.5e3").value == 2500);
  CHECK(parse_integer("10.0").value == 10);
  CHECK(parse_integer("-3").value == -3);
  CHECK(parse_integer("0").value == 0);
  CHECK(parse_integer("9223372036854775807").value == Limits::max());
  CHECK(parse_integer("-9223372036854775808").value == Limits::min());
}

TEST_CASE("text that some reader would take for another number is refused") {
  for (const char* text :
       {"010",  "0x10",  "0b1",   "nan", "NaN", ".inf", "-Infinity", "",
        " 1",   "1 ",    "1__0",  "1_",  "_1",  "1.5",  "1e-1",      "9223372036854775808",
        "1e19", "1e400", "1,000", "ten", "--1", ".5",   "1.",        "12345678901234567890123",
        "1e",   "0.1.2", "1:30"}) {
    INFO(text);
    const Parsed<std::int64_t> parsed = parse_integer(text);
    CHECK_FALSE(parsed);
    CHECK_FALSE(parsed.message.empty());
    CHECK_FALSE(parsed.remedy.empty());
  }
}

TEST_CASE("errors of numbers say what to write") {
  CHECK(parse_integer("010").remedy == "write 10");
  CHECK(parse_integer("0x10").message == "\"0x10\" is hexadecimal");
  CHECK(parse_integer("1.5").message == "\"1.5\" is not a whole number");
  CHECK(parse_decimal(".5").remedy == "write 0.5");
  CHECK(parse_decimal("90%").remedy == "write it as a fraction: 0.9");
  CHECK(parse_decimal("nan").message == "\"nan\" is not a finite number");
  CHECK(parse_integer("9223372036854775808").message == "\"9223372036854775808\" is too large");
}

TEST_CASE("decimals are correctly rounded and outside doubles refused") {
  CHECK(parse_decimal("0.9").value == 0.9);
  CHECK(parse_decimal("-1.5e-3").value == -1.5e-3);
  CHECK(parse_decimal("12").value == 12.0);
  CHECK(parse_decimal("0.1234567890123456789012345").value == 0.1234567890123456789012345);
  CHECK_FALSE(parse_decimal("1e400"));
  CHECK_FALSE(parse_decimal("1e99999999999"));
  CHECK_FALSE(parse_decimal("0.9.1"));
}

TEST_CASE("only true and false are truth values") {
  CHECK(parse_bool("true").value == true);
  CHECK(parse_bool("false").value == false);
  CHECK(parse_bool("yes").remedy == "write true");
  CHECK(parse_bool("off").remedy == "write false");
  CHECK(parse_bool("True").remedy == "write true");
  CHECK_FALSE(parse_bool("maybe"));
}

TEST_CASE("durations read exactly in every unit") {
  CHECK(parse_duration("7ns").value == Duration{7});
  CHECK(parse_duration("1.5us").value == Duration{1500});
  CHECK(parse_duration("200ms").value == Duration{200'000'000});
  CHECK(parse_duration("200 ms").value == Duration{200'000'000});
  CHECK(parse_duration("0.000000001s").value == Duration{1});
  CHECK(parse_duration("1.5min").value == Duration{90'000'000'000});
  CHECK(parse_duration("2h").value == Duration{7'200'000'000'000});
  CHECK(parse_duration("-5ms").value == Duration{-5'000'000});
  CHECK(parse_duration("9007199254740993ns").value == Duration{9007199254740993});  // 2^53 + 1
}

TEST_CASE("sizes read in powers of 1000 and of 1024, which differ") {
  CHECK(parse_bytes("1GB").value == Bytes{1'000'000'000});
  CHECK(parse_bytes("1GiB").value == Bytes{1'073'741'824});
  CHECK(parse_bytes("1.5KiB").value == Bytes{1536});
  CHECK(parse_bytes("80GiB").value == Bytes{85'899'345'920});
  CHECK(parse_bytes("0B").value == Bytes{0});
  CHECK_FALSE(parse_bytes("-1GiB"));
  CHECK_FALSE(parse_bytes("0.3KiB"));
  CHECK_FALSE(parse_bytes("9000000TiB"));
}

TEST_CASE("rates read in bytes, bits, operations and events") {
  CHECK(parse_bandwidth("900GB/s").value == BytesPerSecond{900e9});
  CHECK(parse_bandwidth("3.35TB/s").value == BytesPerSecond{3.35e12});
  CHECK(parse_bandwidth("2GiB/s").value == BytesPerSecond{2147483648.0});
  CHECK(parse_bandwidth("25Gbps").value == BytesPerSecond{3.125e9});
  CHECK(parse_bandwidth("400Gb/s").value == BytesPerSecond{50e9});
  CHECK(parse_flop_rate("989.4TFLOP/s").value == FlopsPerSecond{989.4e12});
  CHECK(parse_flop_rate("2PFLOP/s").value == FlopsPerSecond{2e15});
  CHECK(parse_rate("9/s").value == PerSecond{9});
  CHECK(parse_rate("0.5req/s").value == PerSecond{0.5});
  CHECK(parse_rate("3 requests/s").value == PerSecond{3});
  CHECK_FALSE(parse_rate("-1/s"));
  CHECK_FALSE(parse_bandwidth("1e300TiB/s"));
}

TEST_CASE("a bare number where a unit is due is an error that suggests one") {
  CHECK(parse_duration("500").message == "\"500\" has no unit");
  CHECK(parse_duration("500").remedy == "did you mean 500ms?");
  CHECK(parse_bytes("80").remedy == "did you mean 80GiB?");
  CHECK(parse_bandwidth("900").remedy == "did you mean 900GB/s?");
  CHECK(parse_flop_rate("989").remedy == "did you mean 989TFLOP/s?");
  CHECK(parse_rate("9").remedy == "did you mean 9/s?");
  CHECK_FALSE(parse_duration("0"));
}

TEST_CASE("a unit in the wrong case or misspelt suggests the likely one") {
  CHECK(parse_duration("500 MS").message == "\"500 MS\" has the unknown unit \"MS\"");
  CHECK(parse_duration("500 MS").remedy == "did you mean 500 ms?");
  CHECK(parse_duration("5mins").remedy == "did you mean 5min?");
  CHECK(parse_duration("5parsec").remedy == "units: ns, us, ms, s, min, h");
  CHECK(parse_bytes("1gib").remedy == "did you mean 1GiB?");
  CHECK(parse_bytes("1Gb").remedy == "did you mean 1GB?");
  CHECK(parse_bandwidth("25gb/s").remedy == "did you mean 25GB/s or 25Gb/s?");
  CHECK(parse_flop_rate("989TFLOPS").remedy == "did you mean 989TFLOP/s?");
}

TEST_CASE("a memory bandwidth in bits is refused and both meanings are named") {
  const Parsed<BytesPerSecond> parsed = parse_bandwidth("900Gb/s", BitUnits::kRefused);
  CHECK_FALSE(parsed);
  CHECK(parsed.message == "\"900Gb/s\" is in bits, but a memory's bandwidth is in bytes");
  CHECK(parsed.remedy == "did you mean 900GB/s? as written it would be 112.5GB/s");
  CHECK(parse_bandwidth("900GB/s", BitUnits::kRefused));
  CHECK(parse_bandwidth("900gb/s", BitUnits::kRefused).remedy == "did you mean 900GB/s?");
}

TEST_CASE("values finer than the base unit are refused, not rounded") {
  CHECK(parse_duration("0.5ns").message == "\"0.5ns\" is not a whole number of nanoseconds");
  CHECK(parse_bytes("1.5B").message == "\"1.5B\" is not a whole number of bytes");
}

TEST_CASE("values print with the largest unit that keeps them exact") {
  CHECK(format_duration(Duration{1'500'000'000}) == "1500ms");
  CHECK(format_duration(Duration{90'000'000'000}) == "90s");
  CHECK(format_duration(Duration{7'200'000'000'000}) == "2h");
  CHECK(format_duration(Duration{0}) == "0s");
  CHECK(format_bytes(Bytes{85'899'345'920}) == "80GiB");
  CHECK(format_bytes(Bytes{1'024'000'000'000}) == "1024GB");
  CHECK(format_bytes(Bytes{1001}) == "1001B");
  CHECK(format_bandwidth(BytesPerSecond{3.35e12}) == "3.35TB/s");
  CHECK(format_bandwidth(BytesPerSecond{0.5}) == "0.5B/s");
  CHECK(format_flop_rate(FlopsPerSecond{989e12}) == "989TFLOP/s");
  CHECK(format_rate(PerSecond{9}) == "9/s");
}

TEST_CASE("any duration, size and rate reads back from its text") {
  CHECK(rc::check([](std::int64_t n) {
    RC_ASSERT(parse_duration(format_duration(Duration{n})).value == Duration{n});
    RC_ASSERT(parse_integer(std::to_string(n)).value == n);
  }));
  CHECK(rc::check([] {
    const auto unit = *rc::gen::element<std::int64_t>(1, 1000, 1024, 1 << 20, 1'000'000'000, 1 << 30);
    const auto count = *rc::gen::inRange<std::int64_t>(0, 1'000'000'000);
    RC_ASSERT(parse_bytes(format_bytes(Bytes{count * unit})).value == Bytes{count * unit});
  }));
  CHECK(rc::check([] {
    const auto mantissa = *rc::gen::inRange<std::int64_t>(0, 1'000'000'000'000'000);
    const auto divisor = *rc::gen::inRange<std::int64_t>(1, 1'000'000);
    const double rate = static_cast<double>(mantissa) / static_cast<double>(divisor);
    RC_ASSERT(parse_bandwidth(format_bandwidth(BytesPerSecond{rate})).value == BytesPerSecond{rate});
    RC_ASSERT(parse_flop_rate(format_flop_rate(FlopsPerSecond{rate})).value == FlopsPerSecond{rate});
    RC_ASSERT(parse_rate(format_rate(PerSecond{rate})).value == PerSecond{rate});
  }));
}

TEST_CASE("any text either reads or explains itself") {
  CHECK(rc::check([] {
    const auto text = *rc::gen::container<std::string>(
        rc::gen::element('0', '1', '9', '.', '-', 'e', '_', 'm', 's', 'G', 'i', 'B', '/', ' ', '%', 'x'));
    const Parsed<Duration> duration = parse_duration(text);
    RC_ASSERT(duration.value.has_value() == duration.message.empty());
    RC_ASSERT(duration.value.has_value() == duration.remedy.empty());
    const Parsed<BytesPerSecond> bandwidth = parse_bandwidth(text);
    RC_ASSERT(bandwidth.value.has_value() == bandwidth.message.empty());
  }));
}

}  // namespace
}  // namespace servetwin::unit_text_test
