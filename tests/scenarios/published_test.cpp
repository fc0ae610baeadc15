// If this fails, predictions of published runs are not scored as docs/fidelity.md says.
#include <filesystem>
#include <fstream>

#include "engine/base/csv_table.h"
#include "scenarios/devices.h"
#include "scenarios/published/score.h"
#include "scenarios/published/vllm_h100_cases.h"
#include "tests/support/catch.h"

namespace servetwin::published_test {
namespace {

PublishedFigure figure(const std::string& group, double measured, std::optional<double> predicted) {
  PublishedFigure one;
  one.group = group;
  one.condition = group + " alone";
  one.metric = "ttft";
  one.measured = measured;
  one.predicted = predicted;
  return one;
}

TEST_CASE("errors are summed up over scored figures, and refused ones lower the coverage") {
  std::vector<PublishedFigure> figures{figure("a", 100, 110), figure("a", 100, 95), figure("b", 100, 140),
                                       figure("b", 100, std::nullopt), figure("b", 100, 900)};
  figures.back().scored = false;
  figures.front().others = {{"peer", 150}};
  const std::vector<MetricScore> scores = score(figures);
  REQUIRE(scores.size() == 1);
  const MetricScore& one = scores.front();
  CHECK(one.all.figures == 4);
  CHECK(one.all.predicted == 3);
  CHECK(one.all.median == Approx(0.10));
  CHECK(one.all.mean == Approx((0.1 + 0.05 + 0.4) / 3));
  CHECK(one.all.signed_median == Approx(0.10));
  CHECK(one.worst_group == "b");
  CHECK(one.worst_group_median == Approx(0.4));
  CHECK(one.worst.front().condition == "b alone");
  REQUIRE(one.others.size() == 1);
  CHECK(one.others.front().its.median == Approx(0.5));
  CHECK(one.others.front().ours.median == Approx(0.1));
  const std::string csv = figures_csv(figures);
  CHECK(csv.find("b,b alone,ttft,100,,,true,") != std::string::npos);
  CHECK(csv.find("b,b alone,ttft,100,900,8.0000,false,") != std::string::npos);
}

TEST_CASE("a case is a scenario like any other") {
  ServedCase one;
  one.name = "case";
  one.model = "meta-llama/Llama-3.1-8B";
  one.device = "h100-sxm";
  one.engine =
      "preset: vllm-v1, max_num_seqs: 8, max_num_batched_tokens: 512, max_model_len: 2048, num_blocks: 2000";
  one.workload =
      "num_requests: 10, arrivals: {process: constant, rate: 1/s}, lengths: {input: 100, output: 11}, "
      "max_tokens: output";
  one.cost = "model: linear, base: 10ms, per_token_ns: 0, per_context_ns: 0";
  const ServedLatencies run = simulate_case(one, {}, 1);
  CHECK(run.requests == 10);
  CHECK(run.outputs == 110);
  CHECK(ms(run.ttft.distribution().mean) == Approx(10));
  CHECK(ms(run.tpot.distribution().mean) == Approx(10));
  CHECK(ms(run.e2e.distribution().mean) == Approx(110));
  CHECK(run.seconds == Approx(9.11));
  const ServedLatencies slower = simulate_case(one, {"cost.base=20ms"}, 1);
  CHECK(ms(slower.ttft.distribution().mean) == Approx(20));
  CHECK(simulate_case_often(one, {}, 3).requests == 30);
}

TEST_CASE("a case that is refused says why") {
  ServedCase one;
  one.name = "case";
  one.model = "nobody/knows";
  one.device = "h100-sxm";
  one.engine = "num_blocks: 10";
  one.workload = "num_requests: 1, arrivals: {process: all_at_once}, lengths: {input: 1, output: 1}";
  one.cost = "model: hybrid, engine: vllm-0.15";
  CHECK_THROWS_WITH(simulate_case(one, {}, 1), Catch::Contains("nobody/knows"));
}

TEST_CASE("every shipped engine set and operator profile can be read and belongs to a device") {
  for (const std::string& name : known_engine_sets()) CHECK(find_engine_set(name).name == name);
  for (const std::string& name : known_devices()) {
    const DeviceSpec device = find_device(name);
    INFO(name);
    if (device.operators.empty()) continue;
    const OperatorProfile profile = find_operators(device.operators);
    CHECK(find_device(profile.device).name == profile.device);
    for (const OperatorFit& fit : profile.fits) operator_of(fit, profile.gpu(), limits_of(device));
  }
}

TEST_CASE("a profile that is written reads back as the same numbers") {
  const GpuLimits h100 = limits_of(find_device("h100-sxm"));
  const OperatorProfile profile = find_operators("h100-sxm");
  const OperatorFit& fit = profile.fits.front();
  std::vector<double> numbers;
  for (const auto& [name, node] : fit.numbers.entries) numbers.push_back(std::stod(node.text));
  const OperatorFit again = fit_of(fit.formula, fit.part, numbers, {}, h100);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    CHECK(again.numbers.entries[i].second.text == fit.numbers.entries[i].second.text);
  CHECK(rounded(123456.7, 3) == 123000);
  CHECK(rounded(-0.00123456, 3) == -0.00123);
}

TEST_CASE("tables are read strictly, naming file and line") {
  const std::string file = "published_table.csv";
  std::ofstream(file) << "# made by hand\na,b\n1,x\n\n2.5,y\n";
  const CsvTable table = CsvTable::read(file);
  CHECK(table.num_rows() == 2);
  CHECK(table.number(1, "a") == 2.5);
  CHECK(table.text(0, "b") == "x");
  CHECK_THROWS_WITH(table.whole(1, "a"), Catch::Contains("published_table.csv:5"));
  CHECK_THROWS_WITH(table.column("c"), Catch::Contains("has no column c"));
  std::ofstream(file) << "a,b\n1\n";
  CHECK_THROWS_WITH(CsvTable::read(file),
                    Catch::Contains("published_table.csv:2") && Catch::Contains("1 cells"));
  std::filesystem::remove(file);
  CHECK_THROWS_WITH(CsvTable::read(file), Catch::Contains("cannot be read"));
  CHECK_THROWS_WITH(CsvTable::read("."), Catch::Contains("is no regular file"));
}

TEST_CASE("stages of a load are read as they are written") {
  const std::vector<LoadStage> stages = stages_of("2.5rps x 600s;6.0rps x 1200s");
  REQUIRE(stages.size() == 2);
  CHECK(stages[1].rate == 6);
  CHECK(stages[1].seconds == 1200);
  CHECK_THROWS_WITH(stages_of("fast"), Catch::Contains("is not as"));
}

// The bounds that docs/fidelity.md promises on data that everybody can look at.
TEST_CASE("latencies of vLLM 0.15 on H100 are predicted within the promised bounds", "[slow]") {
  const std::string data = SERVETWIN_DATA_DIR;
  if (!std::filesystem::exists(data + "/vllm-h100/serving.csv")) {
    WARN("skipped: no published runs in " << data);
    return;
  }
  const auto set = Registry<PublishedSet>::instance().make("vllm-h100", ConfigNode{});
  const std::map<std::string, double> bounds{{"e2e_mean_ms", 0.05},
                                             {"itl_mean_ms", 0.05},
                                             {"ttft_mean_ms", 0.08},
                                             {"e2e_p90_ms", 0.08},
                                             {"ttft_p90_ms", 0.10}};
  PublishedOptions options;
  options.data = data;
  const std::vector<MetricScore> scores = score(set->predict(options));
  CHECK(scores.size() == bounds.size());
  for (const MetricScore& one : scores) {
    INFO(one.metric << " worst " << one.worst_group << ' ' << one.worst_group_median);
    CHECK(one.all.predicted == one.all.figures);
    CHECK(one.all.median <= bounds.at(one.metric));
  }
}

TEST_CASE("recorded runs of vLLM 0.19 are predicted within the promised bounds", "[slow]") {
  const std::string data = SERVETWIN_DATA_DIR;
  if (!std::filesystem::exists(data + "/llmservingsim")) {
    WARN("skipped: no recorded runs in " << data);
    return;
  }
  const auto set = Registry<PublishedSet>::instance().make("llmservingsim", ConfigNode{});
  PublishedOptions options;
  options.data = data;
  for (const PublishedFigure& one : set->predict(options)) {
    INFO(one.condition << ' ' << one.metric << ' ' << one.note);
    REQUIRE(one.predicted.has_value());
    if (one.metric == "tpot_mean_ms" || one.metric == "e2e_mean_ms") CHECK(std::abs(one.error()) <= 0.03);
  }
}

}  // namespace
}  // namespace servetwin::published_test
