// If these fail, ranks that share out the tokens or the experts say something else than ranks that do not, or
// send more or less than the formulas.
#include <cmath>
#include <memory>

#include "engine/live/forward_flops.h"
#include "tests/live/live_model_rig.h"
#include "tests/support/catch.h"
#include "tests/support/model_oracles.h"

namespace servetwin::test::sequence_parallel_test {
namespace {

constexpr double kTolerance = 1e-4;
constexpr SplitLayout kTokensShared{true, false};
constexpr SplitLayout kExpertsShared{true, true};

std::unique_ptr<ModelRig> rig_of(const ModelOracle& model,
                                 int ranks,
                                 const SplitLayout& layout,
                                 int threads = 1) {
  const std::vector<TokenId> other(model.tokens.rbegin(), model.tokens.rend());
  return std::make_unique<ModelRig>(model.spec, model.weights,
                                    std::vector<std::vector<TokenId>>{model.tokens, other},
                                    RigOptions{8, threads, DType::kF32, ranks, layout});
}

// A chunk, decode with fewer tokens than ranks, a mixed batch, a step without a sampled row.
const std::vector<std::vector<RigRow>> kSteps = {{{0, 19}},        {{0, 1}},        {{0, 1}},
                                                 {{1, 6}, {0, 1}}, {{0, 3, false}}, {{1, 1}, {0, 2}}};

std::vector<const ModelOracle*> models_with_experts() {
  std::vector<const ModelOracle*> models;
  for (const ModelOracle& model : model_oracles()) {
    if (model.spec.is_moe()) models.push_back(&model);
  }
  return models;
}

CollectiveVolume sent_by_all(ModelRig& rig) {
  CollectiveVolume all;
  for (int rank = 0; rank < rig.team().size(); ++rank) all += rig.team().at(rank).sent();
  return all;
}

// Of the model's tokens and choices in words of this test.
CollectiveVolume formula_of(const ModelSpec& spec, int ranks, bool experts_shared) {
  const std::int64_t n = ranks;
  const std::int64_t exchanges = experts_shared ? spec.layers - spec.moe.first_dense_layers : 0;
  const std::int64_t sums = 2 * spec.layers + 1 - exchanges;
  CollectiveVolume all;
  for (const std::vector<RigRow>& step : kSteps) {
    std::int64_t tokens = 0;
    std::int64_t sampled = 0;
    for (const RigRow& row : step) {
      tokens += row.tokens;
      sampled += row.sampled ? 1 : 0;
    }
    const std::int64_t piece = (tokens + n - 1) / n * spec.hidden * 4;
    all[CollectiveOp::kReduceScatter].calls += n * sums;
    all[CollectiveOp::kReduceScatter].bytes += n * sums * n * piece;
    all[CollectiveOp::kAllGather].calls += n * (sums + (sampled > 0 ? 1 : 0));
    all[CollectiveOp::kAllGather].bytes += n * (sums * piece + sampled * ((spec.vocab + n - 1) / n) * 4);
    all[CollectiveOp::kAllToAll].calls += 3 * n * exchanges;
    all[CollectiveOp::kAllToAll].bytes +=
        exchanges * (4 * n * n + tokens * spec.moe.top_k * (4 + 4 * spec.hidden + 4 * spec.hidden));
  }
  return all;
}

TEST_CASE("logits with shared-out tokens are those without, bit for bit, and on every rank") {
  for (const ModelOracle& model : model_oracles()) {
    for (const int ranks : {2, 4}) {
      if (!why_not_split(model.spec, ranks).empty()) continue;
      CAPTURE(model.name, ranks);
      const auto plain = rig_of(model, ranks, {});
      const auto shared = rig_of(model, ranks, kTokensShared);
      for (const std::vector<RigRow>& step : kSteps) {
        const auto expected = plain->step(step);
        for (const auto& logits : shared->steps(step)) CHECK(logits == expected);
      }
      CHECK(sent_by_all(*shared) == formula_of(model.spec, ranks, false));
      CHECK(shared->flops() == plain->flops());
    }
  }
}

TEST_CASE(
    "experts that are whole on one rank say what one rank says within the tolerance, and send by formula") {
  REQUIRE(models_with_experts().size() >= 7);
  for (const ModelOracle* model : models_with_experts()) {
    for (const int ranks : {2, 4}) {
      CAPTURE(model->name, ranks);
      const auto alone = rig_of(*model, 1, {});
      const auto shared = rig_of(*model, ranks, kExpertsShared);
      std::int64_t tokens = 0;
      CollectiveVolume formula;
      for (const std::vector<RigRow>& step : kSteps) {
        const auto expected = alone->step(step);
        const auto by_rank = shared->steps(step);
        for (const auto& logits : by_rank) CHECK(logits == by_rank.front());
        for (std::size_t row = 0; row < expected.size(); ++row) {
          double difference = 0;
          double largest = 0;
          for (std::size_t i = 0; i < expected[row].size(); ++i) {
            difference = std::max(difference, std::abs(static_cast<double>(by_rank.front()[row][i]) -
                                                       static_cast<double>(expected[row][i])));
            largest = std::max(largest, std::abs(static_cast<double>(expected[row][i])));
          }
          CHECK(difference <= kTolerance * largest);
        }
        std::int64_t in_step = 0;
        for (const RigRow& row : step) in_step += row.tokens;
        formula += forward_volume(model->spec, ranks, kExpertsShared, in_step,
                                  static_cast<std::int64_t>(expected.size()));
        tokens += in_step;
      }
      CHECK(tokens == 34);
      CHECK(sent_by_all(*shared) == formula_of(model->spec, ranks, true));
      CHECK(formula == formula_of(model->spec, ranks, true));
    }
  }
}

TEST_CASE("with experts shared out a row's bits do not depend on chunks, batch or threads") {
  for (const ModelOracle* model : models_with_experts()) {
    CAPTURE(model->name);
    const std::vector<float> whole = rig_of(*model, 2, kExpertsShared)->step({{0, 40}}).front();
    const auto chunked = rig_of(*model, 2, kExpertsShared, 2);
    chunked->step({{0, 17, false}, {1, 3}});
    chunked->step({{1, 1}, {0, 22}});
    CHECK(chunked->step({{1, 9}, {0, 1}})[1] == whole);
  }
}

TEST_CASE(
    "a rank without tokens in a step makes the calls of the others, and all ranks compute each token once") {
  for (const ModelOracle* model : models_with_experts()) {
    CAPTURE(model->name);
    const auto rig = rig_of(*model, 4, kExpertsShared);
    rig->step({{0, 1}});  // for the first rank alone
    const CollectiveVolume first = rig->team().at(0).sent();
    CHECK(first[CollectiveOp::kAllToAll].calls > 0);
    std::int64_t expected = 0;
    for (int rank = 0; rank < 4; ++rank) {
      const CollectiveVolume sent = rig->team().at(rank).sent();
      for (const CollectiveOp op :
           {CollectiveOp::kAllToAll, CollectiveOp::kAllGather, CollectiveOp::kReduceScatter}) {
        CHECK(sent[op].calls == first[op].calls);
      }
      const RankPlace place{rank, 4};
      const ModelWeights part = rank_weights(model->spec, model->weights, place, kExpertsShared);
      expected += ForwardFlops(model->spec, part, place, kExpertsShared)
                      .with_cache({{RequestId{0}, Tokens{1}, Tokens{0}, true}});
    }
    CHECK(rig->flops() == expected);
  }
}

}  // namespace
}  // namespace servetwin::test::sequence_parallel_test
