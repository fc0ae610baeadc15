// If this fails, predictions of published runs are not scored as docs/fidelity.md says.
#include <filesystem>
#include <fstream>

#include "engine/base/csv_table.h"
#include "scenarios/devices.h"
#include "scenarios/published/score.h"
#include "scenarios/published/silicon_case.h"
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

std::string data_folder() { return SERVETWIN_DATA_DIR; }

TEST_CASE("KV pools are within 3 % of the block counts that engines printed") {
  if (!std::filesystem::exists(data_folder() + "/vllm-h100")) {
    WARN("skipped: no vllm-h100 in SERVETWIN_DATA_DIR");
    return;
  }
  PublishedOptions options;
  options.data = data_folder();
  const auto set = Registry<PublishedSet>::instance().make("kv-blocks", ConfigNode{});
  int scored = 0;
  for (const PublishedFigure& one : set->predict(options)) {
    INFO(one.condition << ": " << one.note);
    REQUIRE(one.predicted.has_value());
    if (!one.scored) continue;
    CHECK(std::abs(one.error()) < 0.03);
    ++scored;
  }
  CHECK(scored == 5);
}

TEST_CASE("a model published in one format keeps it, whatever a row's columns call it") {
  const std::string file = "silicon_table.csv";
  std::ofstream(file)
      << "engine,model,hardware,precision,isl,osl,concurrency,tp,attn_dp,moe_tp,moe_ep,source\n"
         "vllm,openai/gpt-oss-120b,h100_sxm,fp4,1024,1024,8,2,1,2,1,source_file=2026-03-25.csv\n"
         "trtllm,openai/gpt-oss-120b,h100_sxm,fp8,1024,1024,8,2,1,2,1,source_file=x.csv\n"
         "vllm,Qwen/Qwen3-32B,h100_sxm,fp8,1024,1024,8,2,1,1,1,source_file=x.csv\n";
  const CsvTable table = CsvTable::read(file);
  CHECK(silicon_case(table, 0).engine.find("dtype: mxfp4") != std::string::npos);
  CHECK(silicon_case(table, 1).engine.find("dtype: mxfp4, kv_dtype: f8e4m3") != std::string::npos);
  CHECK(silicon_case(table, 2).engine.find("dtype: f8e4m3") != std::string::npos);
  std::filesystem::remove(file);
}

TEST_CASE("runs with multi-token prediction are told by container and date") {
  const std::string file = "speculative_table.csv";
  std::ofstream(file) << "engine,model,engine_version,measured\n"
                         "trtllm,deepseek-ai/DeepSeek-R1,1.2.0rc6.post3,2026-02-06T10:00:00\n"
                         "trtllm,deepseek-ai/DeepSeek-R1,1.1.0rc2.post2,2026-01-14T10:00:00\n"
                         "trtllm,deepseek-ai/DeepSeek-R1,1.1.0rc2.post2,2025-12-15T10:00:00\n"
                         "trtllm,deepseek-ai/DeepSeek-R1,1.2.0rc6.post2,2026-02-03T10:00:00\n"
                         "trtllm,deepseek-ai/DeepSeek-V3,1.1.0rc2.post2,2026-01-14T10:00:00\n"
                         "sglang,deepseek-ai/DeepSeek-R1,0.5.9,2026-03-25T10:00:00\n";
  const CsvTable table = CsvTable::read(file);
  std::string all;
  for (std::size_t row = 0; row < table.num_rows(); ++row) all += is_speculative(table, row) ? 's' : '-';
  CHECK(all == "ss----");
  std::filesystem::remove(file);
}

TEST_CASE("ranks that a publication counts once for each way of splitting are counted once") {
  const auto ranks = [](std::int64_t tp, std::int64_t dp, std::int64_t moe_tp, std::int64_t ep) {
    const SiliconRanks of = silicon_ranks(tp, dp, moe_tp, ep);
    return std::vector<std::int64_t>{of.all, of.attention_dp, of.ep};
  };
  CHECK(ranks(8, 1, 8, 1) == std::vector<std::int64_t>{8, 1, 1});
  CHECK(ranks(1, 4, 2, 2) == std::vector<std::int64_t>{4, 4, 2});
  CHECK(ranks(16, 1, 4, 4) == std::vector<std::int64_t>{4, 1, 4});  // called tp4_ep4
  CHECK(ranks(64, 1, 8, 8) == std::vector<std::int64_t>{8, 1, 8});  // called tp8_ep8
  CHECK(ranks(1, 64, 8, 8) == std::vector<std::int64_t>{8, 8, 8});  // with attention for each rank's own
  CHECK(ranks(4, 4, 1, 16) == std::vector<std::int64_t>{4, 4, 4});
  CHECK(ranks(24, 1, 24, 1) == std::vector<std::int64_t>{24, 1, 1});  // truly more than a node
}

TEST_CASE("a choice of rows takes each so many of the groups that are asked for") {
  PublishedOptions options;
  options.only = "B";
  options.every = 2;
  RowChoice choice(options);
  std::string taken;
  for (const char* group : {"A", "B1", "A", "B2", "B3", "B4"}) {
    if (choice.takes(group)) taken += group;
  }
  CHECK(taken == "B1B3");
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

TEST_CASE("times per token of vLLM 0.6 on 8 H100s are predicted within the promised bound", "[slow]") {
  const std::string data = SERVETWIN_DATA_DIR;
  if (!std::filesystem::exists(data + "/apex_plus")) {
    WARN("skipped: no published runs in " << data);
    return;
  }
  PublishedOptions options;
  options.data = data;
  const auto set = Registry<PublishedSet>::instance().make("apex-plus", ConfigNode{});
  for (const MetricScore& one : score(set->predict(options))) {
    CHECK(one.all.predicted == one.all.figures);
    if (one.metric == "tpot_mean_ms") CHECK(one.all.median <= 0.10);
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
