// If these fail, a scenario cannot say that victims go to the host, or the copies cost nothing or the wrong
// time.
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "scenarios/assemble.h"
#include "scenarios/input_text.h"
#include "scenarios/run.h"
#include "scenarios/scenario_files.h"
#include "tests/support/catch.h"

namespace servetwin::swap_test {
namespace {

// A minute of the shipped scenario whose pool is too small, on a device with that link to the host.
Scenario pressed(const std::string& link, const std::string& pressure) {
  const std::string file = "swap_test_device_" + link.substr(0, link.find('/')) + ".yaml";
  std::string device = read_input(shipped_scenarios_folder() + "/../costmodels/devices/h100-sxm.yaml");
  const std::string given = "host_link: 64GB/s";
  REQUIRE(device.find(given) != std::string::npos);
  device.replace(device.find(given), given.size(), "host_link: " + link);
  std::ofstream(file) << device;
  std::vector<std::string> set = {"workload.duration=1min", "device=./" + file, "workload.arrivals.rate=9/s"};
  if (pressure == "swap") set.insert(set.end(), {"engine.host_blocks=4000", "engine.rules.pressure=swap"});
  const Scenario scenario = load_scenario("preemption", {set, {}});
  std::filesystem::remove(file);
  return scenario;
}

double mean_e2e_ms(const Report& report) { return report.measured.e2e.mean.value(); }

TEST_CASE("where copying a victim's KV beats computing it again depends on the link") {
  const Report computed = run_scenario(pressed("64GB/s", "recompute")).report;
  const Report fast = run_scenario(pressed("64GB/s", "swap")).report;
  const Report slow = run_scenario(pressed("100MB/s", "swap")).report;
  CHECK(computed.usage.preemptions > 20);
  CHECK(computed.usage.swap_out_blocks == 0);
  CHECK(computed.measured.recomputed > 0);
  for (const Report* swapped : {&fast, &slow}) {
    CHECK(swapped->usage.preemptions > 20);
    CHECK(swapped->usage.swap_out_blocks > 100);
    CHECK(swapped->usage.swap_in_blocks == swapped->usage.swap_out_blocks);  // everybody finished, no cache
    CHECK(swapped->measured.recomputed == 0);
  }
  CHECK(mean_e2e_ms(fast) < mean_e2e_ms(computed));
  CHECK(mean_e2e_ms(slow) > mean_e2e_ms(computed));
}

TEST_CASE("a block takes its bytes over the link of each device") {
  const RunParts parts = assemble(pressed("64GB/s", "swap"));
  // 2 MiB: 131,072 bytes a token of Llama-3.1-8B, 16 tokens a block.
  CHECK(parts.sim.swap_block_ns == 131'072.0 * 16 / 64);
}

TEST_CASE("swapping without a host tier is refused where it is asked for") {
  const Scenario scenario = load_scenario("preemption", {{"engine.rules.pressure=swap"}, {}});
  try {
    assemble(scenario);
    FAIL("accepted");
  } catch (const ConfigError& error) {
    const std::string text = error.what();
    CHECK(text.find("[CFG202]") != std::string::npos);
    CHECK(text.find("spec.engine.rules.pressure") != std::string::npos);
    CHECK(text.find("host_blocks") != std::string::npos);
  }
}

TEST_CASE("a host tier that nothing uses is refused, and an unknown pressure rule has a place") {
  CHECK_THROWS_AS(assemble(load_scenario("preemption", {{"engine.host_blocks=10"}, {}})), ConfigError);
  try {
    load_scenario("preemption", {{"engine.rules.pressure=swapp"}, {}});
    FAIL("accepted");
  } catch (const ConfigError& error) {
    const std::string text = error.what();
    CHECK(text.find("spec.engine.rules.pressure") != std::string::npos);
    CHECK(text.find("did you mean swap?") != std::string::npos);
  }
}

}  // namespace
}  // namespace servetwin::swap_test
