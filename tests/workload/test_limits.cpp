// If this failed, a mistyped rate or time would be simulated for ever instead of being refused.
#include <string>
#include <vector>

#include "engine/base/registry.h"
#include "engine/workload/arrival_process.h"
#include "engine/workload/horizon.h"
#include "engine/workload/plugin_choice.h"
#include "engine/workload/workload_spec.h"
#include "tests/support/catch.h"
#include "tests/workload/nodes.h"

namespace servetwin::test_limits {
namespace {

std::unique_ptr<ArrivalProcess> make(const Entries& params, std::optional<std::int64_t> count = 10) {
  ArrivalProcess::MakeContext context;
  context.seed = 1;
  context.num_requests = count;
  return make_choice<ArrivalProcess>(map_of(params), "process", "", context);
}

std::string refusal_of(const Entries& params) {
  return error_of([&] { make(params); });
}

Entries with(Entries params, const std::string& key, const ConfigNode& value) {
  for (auto& [name, node] : params) {
    if (name == key) node = value;
  }
  return params;
}

ConfigNode step(const std::string& length, const std::string& rate, const std::string& to) {
  return list({map_of({{"for", text(length)}, {"rate", text(rate)}, {"ramp_to", text(to)}})});
}

const Entries kOnOff{{"process", text("on_off")},
                     {"rate_on", text("5/s")},
                     {"rate_off", text("1/s")},
                     {"mean_on", text("1s")},
                     {"mean_off", text("1s")}};

}  // namespace

TEST_CASE("rates outside their limits are refused by every process that has one") {
  for (const char* rate : {"0/s", "1e18/s", "1000001/s", "1e-19/s"}) {
    CAPTURE(rate);
    for (const char* process : {"constant", "poisson", "gamma", "weibull"}) {
      CAPTURE(process);
      const std::string refusal = refusal_of({{"process", text(process)}, {"rate", text(rate)}});
      CHECK(refusal.find(std::string(rate) + " is out of range (write a value from ") != std::string::npos);
      CHECK(refusal.find("CFG104") != std::string::npos);
    }
    CHECK(refusal_of(with(kOnOff, "rate_on", text(rate))).find("CFG104") != std::string::npos);
  }
  for (const char* rate : {".nan/s", ".inf/s", "nan/s", "inf/s", "-1/s", "1e400/s"}) {
    CAPTURE(rate);
    CHECK(refusal_of({{"process", text("poisson")}, {"rate", text(rate)}}).find("CFG103") !=
          std::string::npos);
  }
  CHECK(refusal_of({{"process", text("constant")}, {"rate", text("1e6/s")}}).empty());
}

TEST_CASE("bursts and steps that are too short, too long or too fast are refused") {
  CHECK(refusal_of(kOnOff).empty());
  CHECK(refusal_of(with(kOnOff, "rate_off", text("0/s"))).empty());
  CHECK(refusal_of(with(kOnOff, "rate_off", text("1e7/s"))).find("CFG104") != std::string::npos);
  for (const char* key : {"mean_on", "mean_off"}) {
    CHECK(refusal_of(with(kOnOff, key, text("1us"))).find("CFG104") != std::string::npos);
    CHECK(refusal_of(with(kOnOff, key, text("9000h"))).find("CFG104") != std::string::npos);
  }
  const auto schedule = [](const ConfigNode& steps) {
    return refusal_of({{"process", text("schedule")}, {"steps", steps}, {"repeat", text("true")}});
  };
  CHECK(schedule(step("1s", "5/s", "1e6/s")).empty());
  CHECK(schedule(step("1s", "1e7/s", "5/s")).find("CFG104") != std::string::npos);
  CHECK(schedule(step("1s", "5/s", "1e7/s")).find("CFG104") != std::string::npos);
  CHECK(schedule(step("1us", "5/s", "5/s")).find("CFG104") != std::string::npos);
  CHECK(schedule(step("9000h", "5/s", "5/s")).find("CFG104") != std::string::npos);
  CHECK(schedule(list({})).find("less than 0.001") != std::string::npos);
}

TEST_CASE("every process knows how many arrivals to expect") {
  const Duration span = std::chrono::seconds(2000);
  const std::vector<Entries> all{
      {{"process", text("constant")}, {"rate", text("50/s")}},
      {{"process", text("poisson")}, {"rate", text("50/s")}},
      {{"process", text("gamma")}, {"rate", text("50/s")}, {"cv", text("2")}},
      {{"process", text("weibull")}, {"rate", text("50/s")}, {"shape", text("0.7")}},
      with(with(kOnOff, "rate_on", text("80/s")), "rate_off", text("20/s")),
      {{"process", text("schedule")}, {"repeat", text("true")}, {"steps", step("10s", "20/s", "80/s")}},
      {{"process", text("schedule")}, {"steps", step("2000s", "20/s", "80/s")}}};
  for (const Entries& params : all) {
    CAPTURE(params.front().second.text);
    const auto process = make(params);
    double count = 0;
    while (process->next() < kTimeZero + span) ++count;
    // 100,000 arrivals; of bursts, the least regular, the relative standard deviation is 1.3 %.
    CHECK(count > 0.95 * process->expected(span));
    CHECK(count < 1.05 * process->expected(span));
  }
}

TEST_CASE("a rate and a duration that no run comes to the end of are refused, unless a number ends them") {
  const auto source = [](const Entries& more) {
    Entries entries{{"arrivals", map_of({{"process", text("poisson")}, {"rate", text("1e6/s")}})},
                    {"lengths", map_of({{"input", text("10")}, {"output", text("1")}})}};
    entries.insert(entries.end(), more.begin(), more.end());
    return error_of([&] { make_source(read_workload(map_of(entries), ""), 1); });
  };
  const std::string refusal = source({{"duration", text("1h")}});
  CHECK(
      refusal.find("about 3,600,000,000 requests would arrive in 1h, more than 1,000,000,000 (lower the rate "
                   "or duration, or set num_requests) [WKL003]") != std::string::npos);
  CHECK(source({{"duration", text("16min")}}).empty());
  CHECK(source({{"duration", text("1h")}, {"num_requests", text("1000")}}).empty());
  CHECK(source({{"num_requests", text("1_000_000_001")}}).find("CFG104") != std::string::npos);
  CHECK(source({{"duration", text("9000h")}}).find("CFG104") != std::string::npos);
}

TEST_CASE("times of clients and users are bounded, so that none added to another overflows") {
  const auto refusal = [](const std::string& key, const ConfigNode& value) {
    return error_of([&] {
      read_workload(map_of({{"closed_loop", map_of({{"users", text("2")}})},
                            {"lengths", map_of({{"input", text("10")}, {"output", text("1")}})},
                            {"num_requests", text("5")},
                            {key, value}}),
                    "");
    });
  };
  CHECK(refusal("timeouts", map_of({{"total", text("8760h")}})).empty());
  for (const char* key : {"total", "queue", "first_token"}) {
    CHECK(refusal("timeouts", map_of({{key, text("2000000h")}})).find("CFG104") != std::string::npos);
  }
  const auto loop = [](const std::string& key, const std::string& value) {
    return error_of([&] { read_params<ClosedLoopSpec>(map_of({{key, text(value)}})); });
  };
  CHECK(loop("retry_pause", "1ms").empty());
  CHECK(loop("retry_pause", "1ns").find("CFG104") != std::string::npos);
  CHECK(loop("stagger", "2000000h").find("CFG104") != std::string::npos);
  CHECK(loop("users", "1000001").find("CFG104") != std::string::npos);
}

}  // namespace servetwin::test_limits
