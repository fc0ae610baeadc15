// If this fails, a device's id gives other limits than its source, or a broken device file is taken without a
// word.
#include "scenarios/devices.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "engine/base/data_files.h"
#include "engine/base/text.h"
#include "engine/base/unit_text.h"
#include "tests/support/catch.h"

namespace servetwin::devices_test {
namespace {

std::string h100_text() {
  std::ifstream in(std::string(SERVETWIN_SOURCE_DIR) + "/costmodels/devices/h100-sxm.yaml");
  return {std::istreambuf_iterator<char>(in), {}};
}

// The problem with the H100's file when `line` is replaced.
Problem problem_with(const std::string& line, const std::string& replacement) {
  std::string text = h100_text();
  text.replace(text.find(line), line.size(), replacement);
  const std::string path = "device_catalogue_test.yaml";
  std::ofstream(path) << text;
  Problem problem{"none", {}, "", "was accepted", ""};
  try {
    find_device(path);
  } catch (const ConfigError& error) {
    problem = error.problems().front();
  }
  std::filesystem::remove(path);
  return problem;
}

TEST_CASE("a device that reports more memory than it has is refused") {
  const Problem problem = problem_with("memory: 80GiB", "memory: 79GiB");
  CHECK(problem.path == "reported_memory");
  CHECK(problem.message == "is more than the device's memory");
  CHECK(problem.place.line > 1);
}

TEST_CASE("every device file reads, under the name it is called") {
  const auto ids = known_devices();
  CHECK(ids.size() >= 9);
  for (const std::string& id : ids) CHECK(find_device(id).name == id);
}

TEST_CASE("the H100 has its public limits") {
  const DeviceSpec device = find_device("h100-sxm");
  CHECK(device.memory == Bytes{85'899'345'920});
  CHECK(device.memory_bandwidth.value == 3.35e12);
  CHECK(device.peak.bf16.value == 989e12);
  CHECK(device.node_link.value == 450e9);
  CHECK_FALSE(device.peak.fp4.has_value());
  CHECK_FALSE(peak_for(device, DType::kNvfp4).has_value());
  CHECK(peak_for(device, DType::kF8E4M3)->value == 1978e12);
  CHECK(peak_for(device, DType::kQ4_K)->value == 989e12);
}

TEST_CASE("an unknown device suggests the nearest") {
  try {
    find_device("h100-smx");
    FAIL("was accepted");
  } catch (const ConfigError& error) {
    CHECK(error.problems().front().remedy.find("h100-sxm") != std::string::npos);
  }
}

TEST_CASE("a device file's error names file, line and field") {
  const Problem missing = problem_with("memory_bandwidth: 3350GB/s\n", "");
  CHECK(missing.place.file == "device_catalogue_test.yaml");
  CHECK((missing.path + missing.message).find("memory_bandwidth") != std::string::npos);
  const Problem bits = problem_with("3350GB/s", "26800Gbps");
  CHECK(bits.path == "memory_bandwidth");
  CHECK(bits.place.line > 1);
  CHECK(problem_with("gemm_memory: 0.9", "gemm_memory: 1.9").path == "efficiency.gemm_memory");
  CHECK(problem_with("power_w: 700", "power: 700").path == "power");
}

TEST_CASE("a file of the user's own is read as it is named") {
  std::string text = h100_text();
  text.replace(text.find("80GiB"), 5, "94GiB");
  std::ofstream("h100_94.yaml") << text;
  CHECK(find_device("h100_94.yaml").memory == Bytes{std::int64_t{94} << 30});
  std::filesystem::remove("h100_94.yaml");
}

TEST_CASE("limits equal the public table they come from") {
  std::ifstream in(std::string(SERVETWIN_DATA_DIR) + "/hardware_and_models/hardware.csv");
  if (!in) {
    WARN("skipped: no hardware_and_models in SERVETWIN_DATA_DIR");
    return;
  }
  std::string line;
  std::getline(in, line);
  int compared = 0;
  while (std::getline(in, line)) {
    const auto cells = split_csv_line(line);
    std::string id = cells[0];
    std::replace(id.begin(), id.end(), '_', '-');
    const DeviceSpec device = find_device(id);
    INFO(id);
    const auto number = [&](std::size_t column) { return *parse_decimal(cells[column]).value; };
    CHECK(device.memory_bandwidth.value == number(1));
    CHECK(static_cast<double>(device.memory.value) == number(2));
    CHECK(device.peak.bf16.value == number(3));
    CHECK(device.peak.fp8.has_value() == !cells[5].empty());
    CHECK(device.devices_per_node == static_cast<int>(number(9)));
    CHECK(device.network_link.value == number(10));
    CHECK(device.node_link.value == number(11));
    ++compared;
  }
  CHECK(compared == 9);
}

TEST_CASE("data folders start with the source tree") {
  CHECK(find_data_file(data_folders(), "costmodels/devices/h100-sxm.yaml").has_value());
  CHECK_FALSE(find_data_file(data_folders(), "costmodels/devices").has_value());
}

}  // namespace
}  // namespace servetwin::devices_test
