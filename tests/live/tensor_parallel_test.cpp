// If these fail, a model split over ranks says something else than one rank, or tells more or less than the
// formulas of its collectives.
#include <cmath>
#include <memory>

#include "engine/live/forward_flops.h"
#include "tests/live/live_model_rig.h"
#include "tests/support/catch.h"
#include "tests/support/model_oracles.h"

namespace servetwin::test::tensor_parallel_test {
namespace {

constexpr double kTolerance = 1e-4;

// The largest difference over the largest logit.
double relative_error(const std::vector<float>& ours, const std::vector<float>& theirs) {
  double difference = 0;
  double largest = 0;
  REQUIRE(ours.size() == theirs.size());
  for (std::size_t i = 0; i < theirs.size(); ++i) {
    difference =
        std::max(difference, std::abs(static_cast<double>(ours[i]) - static_cast<double>(theirs[i])));
    largest = std::max(largest, std::abs(static_cast<double>(theirs[i])));
  }
  return difference / largest;
}

// Ranks that the model's shape allows, more than one.
std::vector<int> splits_of(const ModelOracle& model) {
  std::vector<int> splits;
  for (const int ranks : {2, 3, 4}) {
    if (why_not_split(model.spec, ranks).empty()) splits.push_back(ranks);
  }
  return splits;
}

// Makes the same steps on one rank and on several; the logits of all ranks are the same bits.
class Pair {
 public:
  Pair(const ModelOracle& model, std::vector<std::vector<TokenId>> sequences, int ranks)
      : alone_(model.spec, model.weights, sequences, RigOptions{4, 1, DType::kF32, 1, {}}),
        split_(model.spec, model.weights, sequences, RigOptions{4, 1, DType::kF32, ranks, {}}) {}

  void step(const std::vector<RigRow>& rows) {
    const auto expected = alone_.step(rows);
    const auto by_rank = split_.steps(rows);
    for (const auto& logits : by_rank) CHECK(logits == by_rank.front());
    for (std::size_t row = 0; row < expected.size(); ++row)
      worst_ = std::max(worst_, relative_error(by_rank.front()[row], expected[row]));
  }
  void swap(int sequence) {
    alone_.swap(sequence);
    split_.swap(sequence);
  }
  std::int64_t computed(int sequence) const { return alone_.computed(sequence); }
  double worst() const { return worst_; }

 private:
  ModelRig alone_;
  ModelRig split_;
  double worst_ = 0;
};

CollectiveVolume sent_by_all(ModelRig& rig) {
  CollectiveVolume all;
  for (int rank = 0; rank < rig.team().size(); ++rank) all += rig.team().at(rank).sent();
  return all;
}

TEST_CASE("every family has a model that two ranks and one that four ranks compute") {
  for (const ModelOracle* model : family_oracles()) {
    CAPTURE(model->name);
    CHECK(splits_of(*model) == std::vector<int>{2, 4});
  }
}

TEST_CASE(
    "logits of several ranks are those of one within the tolerance: prompt, chunks, decode, mixed, swapped") {
  for (const ModelOracle& model : model_oracles()) {
    for (const int ranks : splits_of(model)) {
      CAPTURE(model.name, ranks);
      const std::vector<TokenId> other(model.tokens.rbegin(), model.tokens.rend());
      Pair pair(model, {model.tokens, other, model.tokens}, ranks);
      pair.step({{0, 24}});
      while (pair.computed(0) < 30) pair.step({{0, 1}});
      pair.step({{1, 7}, {0, 1}, {2, 5, false}});
      pair.swap(0);
      while (pair.computed(0) < 40) pair.step({{2, 3}, {0, 1}, {1, 2}});
      CHECK(pair.worst() > 0);  // sums in another order are seldom the same bits
      CHECK(pair.worst() <= kTolerance);
    }
  }
}

TEST_CASE("with ranks, too, a row's bits do not depend on chunks, batch or threads") {
  for (const ModelOracle* model : family_oracles()) {
    for (const int ranks : {2, 4}) {
      CAPTURE(model->name, ranks);
      const auto rig_of = [&](int threads) {
        return std::make_unique<ModelRig>(model->spec, model->weights,
                                          std::vector<std::vector<TokenId>>{model->tokens, model->tokens},
                                          RigOptions{8, threads, DType::kF32, ranks, {}});
      };
      const std::vector<float> whole = rig_of(1)->step({{0, 40}}).front();
      const auto chunked = rig_of(2);
      chunked->step({{0, 17, false}, {1, 3}});
      chunked->step({{1, 1}, {0, 22}});
      CHECK(chunked->step({{1, 9}, {0, 1}})[1] == whole);
    }
  }
}

TEST_CASE(
    "a forward pass takes two all-reduces a layer, one for the embedding and a gather of sampled rows") {
  for (const ModelOracle& model : model_oracles()) {
    for (const int ranks : splits_of(model)) {
      CAPTURE(model.name, ranks);
      ModelRig rig(model.spec, model.weights, {model.tokens, model.tokens},
                   RigOptions{16, 1, DType::kF32, ranks, {}});
      rig.step({{0, 20}, {1, 3, false}});
      const std::int64_t sums = 2 * model.spec.layers + 1;
      const std::int64_t share = (model.spec.vocab + ranks - 1) / ranks;
      CollectiveVolume expected;
      expected[CollectiveOp::kAllReduce] = {sums, sums * 23 * model.spec.hidden * 4};
      expected[CollectiveOp::kAllGather] = {1, share * 4};
      for (int rank = 0; rank < ranks; ++rank) CHECK(rig.team().at(rank).sent() == expected);
      rig.step({{0, 5, false}});  // no row sampled: no gather
      expected[CollectiveOp::kAllReduce] = {2 * sums, sums * 28 * model.spec.hidden * 4};
      for (int rank = 0; rank < ranks; ++rank) CHECK(rig.team().at(rank).sent() == expected);
      CollectiveVolume formula = forward_volume(model.spec, ranks, {}, 23, 1);
      formula += forward_volume(model.spec, ranks, {}, 5, 0);
      CHECK(formula == sent_by_all(rig));
    }
  }
}

TEST_CASE("a rank caches its KV heads, at least one; a latent is cached whole on every rank") {
  for (const ModelOracle& model : model_oracles()) {
    for (const int ranks : splits_of(model)) {
      CAPTURE(model.name, ranks);
      const ModelSpec& spec = model.spec;
      ModelRig rig(spec, model.weights, {model.tokens}, RigOptions{16, 1, DType::kF32, ranks, {}});
      const std::int64_t slots = 17 * 16;
      const std::int64_t heads = std::max<std::int64_t>(1, spec.kv_heads / ranks);
      const std::int64_t elements =
          spec.is_mla() ? spec.mla.kv_lora_rank + spec.mla.qk_rope_head_dim : 2 * heads * spec.head_dim;
      for (int rank = 0; rank < ranks; ++rank)
        CHECK(rig.team().at(rank).cache_bytes() == Bytes{slots * spec.layers * elements * 4});
    }
  }
}

TEST_CASE("the kernels of all ranks count the FLOPs of the ranks' formulas") {
  for (const ModelOracle* model : family_oracles()) {
    for (const int ranks : {2, 4}) {
      CAPTURE(model->name, ranks);
      ModelRig rig(model->spec, model->weights, {model->tokens}, RigOptions{16, 1, DType::kF32, ranks, {}});
      rig.step({{0, 20}});
      const StepRow row{RequestId{0}, Tokens{20}, Tokens{0}, true};
      std::int64_t expected = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        const RankPlace place{rank, ranks};
        const ModelWeights part = rank_weights(model->spec, model->weights, place);
        expected += ForwardFlops(model->spec, part, place).with_cache({row});
      }
      CHECK(rig.flops() == expected);
      CHECK(rig.flops() >= ForwardFlops(model->spec, model->weights).with_cache({row}));
    }
  }
}

}  // namespace
}  // namespace servetwin::test::tensor_parallel_test
