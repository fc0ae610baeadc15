// If these fail, nobody knows how far off a device is that was never measured.
#include "calibrate/operators/transfer_errors.h"

#include <filesystem>

#include "calibrate/importers/importer.h"
#include "engine/base/registry.h"
#include "scenarios/devices.h"
#include "tests/support/catch.h"

namespace servetwin::test::transfer_errors_test {
namespace {

constexpr const char* kFormula = "gemm_bf16";

struct Pair {
  DeviceSpec measured = find_device("h100-sxm");
  DeviceSpec unseen = find_device("a100-sxm");
  OperatorProfile profile;
  std::vector<double> numbers;
  std::unique_ptr<OperatorFormula> formula =
      Registry<OperatorFormula>::instance().make(kFormula, ConfigNode{});

  Pair() {
    profile.device = measured.name;
    profile.limits = {measured.peak.bf16, measured.memory_bandwidth, measured.node_link,
                      measured.multiprocessors};
    for (const FormulaNumber& number : formula->numbers(limits_of(measured))) numbers.push_back(number.start);
    profile.fits.push_back(fit_of(kFormula, "bf16", numbers, {}, limits_of(measured)));
  }

  // As the unseen device would take, were it what its limits say, times `off`.
  OperatorSample call(double tokens, double off) const {
    OperatorSample sample{kFormula, "bf16", "g", {tokens, 4096, 4096}, 0};
    const std::vector<double> scaled =
        scaled_numbers(*formula, numbers, limits_of(measured), limits_of(unseen));
    sample.us = off * formula->us(scaled, limits_of(unseen), sample.dims);
    return sample;
  }
};

TEST_CASE("a device that is what its limits say is predicted exactly, and another one by how far it is off") {
  const Pair pair;
  OperatorSamples samples;
  for (const double tokens : {2048, 4096, 8192}) samples.operators.push_back(pair.call(tokens, 1));
  TransferErrors errors = transfer_errors(samples, pair.unseen, pair.profile);
  REQUIRE(errors.all.samples == 3);
  CHECK(errors.all.median < 1e-5);  // six digits are written
  for (OperatorSample& sample : samples.operators) sample.us *= 1.25;
  errors = transfer_errors(samples, pair.unseen, pair.profile);
  CHECK(errors.all.median == Approx(0.2).epsilon(1e-3));
  REQUIRE(errors.parts.size() == 1);
  CHECK(errors.parts.front().left_out.median == Approx(0.2).epsilon(1e-3));
}

TEST_CASE("short calls and kernels that the profile does not have are counted, not judged") {
  const Pair pair;
  OperatorSamples samples;
  samples.operators.push_back(pair.call(4096, 1));
  samples.operators.push_back(pair.call(4096, 1));
  samples.operators.back().us = 20;
  samples.operators.push_back(pair.call(4096, 1));
  samples.operators.back().part = "f64";
  const TransferErrors errors = transfer_errors(samples, pair.unseen, pair.profile);
  CHECK(errors.all.samples == 1);
  CHECK(errors.short_calls == 1);
  CHECK(errors.unknown == 1);
}

TEST_CASE("devices whose calls a profile never saw are predicted from limits within 20 % (median)",
          "[slow]") {
  const std::string folder = std::string(SERVETWIN_DATA_DIR) + "/aiconfigurator_ops";
  if (!std::filesystem::exists(folder)) {
    WARN("skipped: no " + folder);
    return;
  }
  const auto importer = Registry<Importer>::instance().make("aiconfigurator", ConfigNode{});
  const std::pair<const char*, const char*> pairs[] = {
      {"a100-sxm", "h100-sxm"}, {"h100-sxm", "a100-sxm"}, {"h200-sxm", "h100-sxm"}, {"h100-sxm", "h200-sxm"}};
  for (const auto& [unseen, by] : pairs) {
    CAPTURE(unseen, by);
    const TransferErrors errors =
        transfer_errors(importer->read(folder, unseen), find_device(unseen), find_operators(by));
    CHECK(errors.all.samples > 1000);
    CHECK(errors.all.median <= 0.20);
  }
}

}  // namespace
}  // namespace servetwin::test::transfer_errors_test
