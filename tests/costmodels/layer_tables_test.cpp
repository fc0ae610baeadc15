// If this fails, a profiler's tables are not read as they stand, or not looked up straight between points.
#include "costmodels/layer_times.h"
#include "tests/costmodels/operator_rig.h"
#include "tests/support/catch.h"

namespace servetwin::layer_tables_test {
namespace {

TEST_CASE("times between points are straight, and go on beyond the last two") {
  TimeTable table;
  table.add(16, 26);
  table.add(1, 11);
  table.add(8, 18);
  table.sort();
  CHECK(table.at(1) == 11);
  CHECK(table.at(4.5) == Approx(14.5));
  CHECK(table.at(32) == Approx(42));
  CHECK(table.at(0) == 11);
}

TEST_CASE("attention is interpolated in tokens along every axis") {
  const LayerFiles files;
  const LayerTimes times = read_layer_times(LayerFiles::prefix());
  for (const auto& [chunk, cached, rows, context] : {std::array<double, 4>{0, 0, 1, 16},
                                                     {0, 0, 256, 8192},
                                                     {0, 0, 1, 4104},
                                                     {2048, 8192, 256, 8192},
                                                     {16, 4096, 0, 0}}) {
    CHECK(times.attention.at({chunk, cached, rows, context}) ==
          Approx(LayerFiles::attention_us(chunk, cached, rows, context)));
  }
  CHECK(times.attention.piece_of(100) == std::array<double, 2>{16, std::numeric_limits<double>::infinity()});
}

TEST_CASE("a decode step is the tables' times, layer by layer, and the engine's own") {
  const LayerFiles files;
  const ModelSpec model = llama_8b();
  const EngineSet engine = engine_by_hand();
  CostContext context;
  context.model = &model;
  context.engine = &engine;
  const auto cost =
      make_cost("layer_tables", {{"tables", LayerFiles::prefix()}, {"engine", "by-hand"}}, context);
  const StepShape shape = decode_shape(8, 4104);
  const double operation = 10 + 8;  // at 8 tokens
  const double layer = 4 * operation + 4 * operation + LayerFiles::attention_us(0, 0, 8, 4104);
  const double own = 200 + 8 * 5 + 32 * 2;
  const double us = 32 * layer + 2 * operation + 500 + 7 + own;
  CHECK(to_seconds(time_of(*cost, shape)) * 1e6 == Approx(us).epsilon(0.0005));
}

TEST_CASE("times and counts that cannot be are refused with file and line") {
  const LayerFiles files;
  for (const char* row : {"lm_head,1,-5\n", "lm_head,-1,5\n", "lm_head,1.5,5\n", "lm_head,1,1e300\n"}) {
    const TestFile broken("layer_per_sequence.csv", std::string("layer,sequences,time_us\n") + row);
    try {
      read_layer_times(LayerFiles::prefix());
      FAIL(row);
    } catch (const ConfigError& error) {
      CHECK(error.problems().front().place.file == "layer_per_sequence.csv");
      CHECK(error.problems().front().place.line == 2);
    }
  }
}

TEST_CASE("tables of other models and layouts are refused") {
  const LayerFiles files;
  const ModelSpec mixtral = catalogue_model("mistralai/Mixtral-8x7B-v0.1");
  const EngineSet engine = engine_by_hand();
  CostContext context;
  context.model = &mixtral;
  context.engine = &engine;
  const Entries entries{{"tables", LayerFiles::prefix()}, {"engine", "by-hand"}};
  CHECK(problem_making("layer_tables", entries, context).message.find("experts") != std::string::npos);
  const ModelSpec llama = llama_8b();
  context.model = &llama;
  context.dtype = DType::kF8E4M3;
  CHECK(problem_making("layer_tables", entries, context).path == "spec.engine.dtype");
  context.dtype.reset();
  context.tp = 2;
  CHECK(problem_making("layer_tables", entries, context).path == "spec.layout");
}

}  // namespace
}  // namespace servetwin::layer_tables_test
