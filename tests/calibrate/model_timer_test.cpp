// If these fail, the steps that are timed are not the steps that were planned: contexts are not there, or
// rows write over each other.
#include "calibrate/measure/model_timer.h"

#include "engine/models/catalogue.h"
#include "engine/models/weights.h"
#include "tests/support/catch.h"

namespace servetwin::model_timer_test {
namespace {

TEST_CASE("a real runner runs every planned step of a small space, whatever came before") {
  const ModelSpec spec = find_model("servetwin/tiny-llama-random", {SERVETWIN_SOURCE_DIR});
  const ModelWeights weights = random_weights(spec, 1);
  RunnerOptions options;
  options.block_size = Tokens{8};
  options.max_model_len = Tokens{96};
  const StepSpace space{48, 6, 96, 20, 8};
  ModelTimer timer(spec, weights, options, space);
  // The runner itself stops with a broken invariant where a row's context is not in its blocks.
  for (std::int64_t n = 0; n < 120; ++n) {
    timer.prepare(planned_step(space, 1, n));
    const Duration before = timer.now();
    for (int repeat = 0; repeat < 2; ++repeat) CHECK(timer.run().time > Duration{0});
    CHECK(timer.now() > before);
  }
}

}  // namespace
}  // namespace servetwin::model_timer_test
