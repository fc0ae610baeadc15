// If these fail, the twin contradicts what is publicly known of the systems it re-enacts, in direction or in
// rough size.
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "scenarios/input_text.h"
#include "scenarios/run.h"
#include "scenarios/scenario_files.h"
#include "tests/support/catch.h"

namespace servetwin::public_claims_test {
namespace {

Report report_of(const std::string& name, const std::vector<std::string>& set) {
  return run_scenario(load_scenario(name, {set, {}})).report;
}

// More than either can serve, so that the throughput is the most it can give.
double most_requests_per_second(const std::string& preset) {
  const Report report =
      report_of("continuous_batching", {"engine.preset=" + preset, "engine.max_num_batched_tokens=65536",
                                        "workload.arrivals.rate=30/s", "workload.duration=1min"});
  return report.per_second(report.measured.outcomes.completed);
}

// Orca (OSDI 2022) and the measurements of continuous batching that followed it report from several times to
// over twenty times, by how much the lengths differ; here answers are uniform from 32 to 512 tokens.
TEST_CASE("batching by iteration serves several times what static batches do") {
  const double iterations = most_requests_per_second("orca");
  const double batches = most_requests_per_second("static");
  CHECK(iterations > 2 * batches);
  CHECK(iterations < 25 * batches);
}

struct Starved {
  std::string input;
  std::vector<std::string> also;
};

double mean_e2e_ms(const Starved& workload, bool swap) {
  // A PCIe 3 link to the host.
  std::string device = read_input(shipped_scenarios_folder() + "/../costmodels/devices/h100-sxm.yaml");
  const std::string given = "host_link: 64GB/s";
  REQUIRE(device.find(given) != std::string::npos);
  device.replace(device.find(given), given.size(), "host_link: 12GB/s");
  const std::string file = "public_claims_test_device.yaml";
  std::ofstream(file) << device;
  std::vector<std::string> set = workload.also;
  set.insert(set.end(),
             {"device=./" + file, "workload.lengths.input={distribution: uniform, " + workload.input + "}"});
  if (swap) set.insert(set.end(), {"engine.rules.pressure=swap", "engine.host_blocks=40000"});
  const Report report = report_of("preemption", set);
  std::filesystem::remove(file);
  CHECK(report.usage.preemptions > 10);
  CHECK((report.usage.swap_out_blocks > 0) == swap);
  return report.measured.e2e.mean.value();
}

// Computing again takes time with the square of the length, copying with the length; and a short prompt
// computed again rides along with steps that are bound by memory.
TEST_CASE("swapping beats computing again for long contexts, and loses for short ones, over the same link") {
  const Starved shorts{"low: 64, high: 256", {"workload.duration=90s"}};
  const Starved longs{"low: 12000, high: 24000",
                      {"workload.duration=300s", "engine.num_blocks=8000", "engine.max_model_len=32768",
                       "workload.arrivals.rate=0.8/s"}};
  CHECK(mean_e2e_ms(shorts, true) > mean_e2e_ms(shorts, false));
  CHECK(mean_e2e_ms(longs, true) < mean_e2e_ms(longs, false));
}

}  // namespace
}  // namespace servetwin::public_claims_test
