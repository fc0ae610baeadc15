// If these fail, ranks compute with other weights than the model's, hold what is another's, or a model that
// cannot be split is split.
#include "engine/models/tensor_parallel.h"

#include "engine/base/error.h"
#include "tests/support/catch.h"
#include "tests/support/model_oracles.h"
#include "tests/support/tiny_llama.h"

namespace servetwin::test::tensor_parallel_test {
namespace {

std::vector<ModelWeights> parts_of(const ModelOracle& model, int ranks) {
  std::vector<ModelWeights> parts;
  for (int rank = 0; rank < ranks; ++rank)
    parts.push_back(rank_weights(model.spec, model.weights, {rank, ranks}));
  return parts;
}

using Member = StoredMatrix LayerWeights::*;

// Rank by rank, of one layer.
std::vector<StoredMatrix> of_layer(const std::vector<ModelWeights>& parts, std::size_t layer, Member member) {
  std::vector<StoredMatrix> matrices;
  for (const ModelWeights& part : parts) matrices.push_back(part.layers[layer].*member);
  return matrices;
}

// Side by side.
StoredMatrix beside(const std::vector<StoredMatrix>& matrices) {
  Weights values;
  std::int64_t columns = 0;
  for (const StoredMatrix& one : matrices) columns += one.columns;
  for (std::int64_t row = 0; row < matrices.front().rows; ++row) {
    for (const StoredMatrix& one : matrices) {
      const Weights line = floats_of(rows_of(one, row, 1));
      values.insert(values.end(), line.begin(), line.end());
    }
  }
  return f32_matrix(matrices.front().rows, columns, values);
}

// Experts one below the other, each put together from its shares.
void check_dense(const std::vector<DenseWeights>& parts, const DenseWeights& whole, std::int64_t experts) {
  if (whole.down.empty()) {
    CHECK(parts.front().down.empty());
    return;
  }
  std::vector<StoredMatrix> downs;
  for (const DenseWeights& part : parts) downs.push_back(part.down);
  CHECK(beside(downs) == whole.down);
  for (StoredMatrix DenseWeights::*member : {&DenseWeights::gate, &DenseWeights::up}) {
    std::vector<StoredMatrix> rows;
    for (std::int64_t expert = 0; expert < experts; ++expert) {
      for (const DenseWeights& part : parts) {
        const std::int64_t share = (part.*member).rows / experts;
        rows.push_back(rows_of(part.*member, expert * share, share));
      }
    }
    CHECK(stacked(rows) == whole.*member);
  }
}

void check_layer(const ModelOracle& model, const std::vector<ModelWeights>& parts, std::size_t index) {
  const LayerWeights& whole = model.weights.layers[index];
  CHECK(stacked(of_layer(parts, index, &LayerWeights::query)) == whole.query);
  CHECK(beside(of_layer(parts, index, &LayerWeights::output)) == whole.output);
  std::vector<DenseWeights> dense;
  std::vector<DenseWeights> experts;
  std::vector<DenseWeights> shared;
  Weights bias;
  for (const ModelWeights& part : parts) {
    const LayerWeights& layer = part.layers[index];
    dense.push_back(layer.dense);
    experts.push_back(layer.experts);
    shared.push_back(layer.shared);
    bias.insert(bias.end(), layer.query_bias.begin(), layer.query_bias.end());
    CHECK(layer.router == whole.router);
    CHECK(layer.router_correction == whole.router_correction);
    CHECK(layer.latent.key_down == whole.latent.key_down);
    CHECK(layer.latent.query_down == whole.latent.query_down);
    CHECK(layer.attention_norm == whole.attention_norm);
    CHECK(layer.query_norm == whole.query_norm);
  }
  CHECK(bias == whole.query_bias);
  check_dense(dense, whole.dense, 1);
  check_dense(experts, whole.experts, model.spec.moe.num_experts);
  check_dense(shared, whole.shared, 1);
}

TEST_CASE(
    "of every family the parts of all ranks are the whole, and each rank's shapes are those it computes") {
  for (const ModelOracle& model : model_oracles()) {
    for (const int ranks : {2, 4}) {
      if (!why_not_split(model.spec, ranks).empty()) continue;
      CAPTURE(model.name, ranks);
      const std::vector<ModelWeights> parts = parts_of(model, ranks);
      std::vector<StoredMatrix> embeddings;
      for (const ModelWeights& part : parts) embeddings.push_back(part.embedding);
      CHECK(stacked(embeddings) == model.weights.embedding);
      for (std::size_t index = 0; index < model.weights.layers.size(); ++index) {
        check_layer(model, parts, index);
        for (int rank = 0; rank < ranks; ++rank) {
          const ModelSpec spec = rank_spec(model.spec, {rank, ranks});
          const LayerWeights& layer = parts[static_cast<std::size_t>(rank)].layers[index];
          CHECK(spec.heads * ranks == model.spec.heads);
          if (!spec.is_mla()) {
            CHECK(layer.query.rows == spec.heads * spec.head_dim);
            CHECK(layer.key.rows == spec.kv_heads * spec.head_dim);
          }
          CHECK(layer.dense.down.columns == (layer.dense.down.empty() ? 0 : spec.intermediate));
          CHECK(layer.experts.down.columns == (layer.experts.down.empty() ? 0 : spec.moe.intermediate));
        }
      }
      const SplitWeights split(model.spec, model.weights, ranks);
      for (int rank = 0; rank < ranks; ++rank) {
        const ModelWeights& alone = parts[static_cast<std::size_t>(rank)];
        const ModelWeights& of_all = split.parts()[static_cast<std::size_t>(rank)];
        CHECK(stored_bytes(of_all) == stored_bytes(alone));
        CHECK(of_all.embedding == alone.embedding);
        CHECK(of_all.layers.back().query == alone.layers.back().query);
        CHECK(of_all.layers.back().output == alone.layers.back().output);
        CHECK(of_all.layers.back().experts.gate == alone.layers.back().experts.gate);
      }
    }
  }
}

TEST_CASE(
    "a rank's KV heads are those its queries read, shared by ranks where there are fewer heads than ranks") {
  for (const ModelOracle& model : model_oracles()) {
    if (model.spec.is_mla()) continue;
    for (const int ranks : {2, 4}) {
      if (!why_not_split(model.spec, ranks).empty()) continue;
      CAPTURE(model.name, ranks);
      const std::vector<ModelWeights> parts = parts_of(model, ranks);
      const LayerWeights& whole = model.weights.layers.front();
      for (int rank = 0; rank < ranks; ++rank) {
        const ModelSpec spec = rank_spec(model.spec, {rank, ranks});
        const LayerWeights& layer = parts[static_cast<std::size_t>(rank)].layers.front();
        // Of its first and last head, by the whole model's grouping.
        const std::int64_t group = model.spec.heads / model.spec.kv_heads;
        for (const std::int64_t head : {std::int64_t{0}, spec.heads - 1}) {
          const std::int64_t of_whole = (rank * spec.heads + head) / group;
          const std::int64_t of_part = head / (spec.heads / spec.kv_heads);
          const std::int64_t dim = spec.head_dim;
          CHECK(rows_of(layer.key, of_part * dim, dim) == rows_of(whole.key, of_whole * dim, dim));
          CHECK(rows_of(layer.value, of_part * dim, dim) == rows_of(whole.value, of_whole * dim, dim));
        }
      }
    }
  }
}

TEST_CASE("parts that are rows share the model's bytes, and all ranks of a KV head the same ones") {
  const ModelOracle& model = model_oracles().front();  // four heads, two KV heads
  REQUIRE(model.spec.kv_heads == 2);
  const std::vector<ModelWeights> parts = parts_of(model, 4);
  const LayerWeights& whole = model.weights.layers.front();
  CHECK(parts[0].embedding.bytes.data() == model.weights.embedding.bytes.data());
  for (std::size_t rank = 0; rank < 4; ++rank) {
    const LayerWeights& layer = parts[rank].layers.front();
    CHECK(layer.query.bytes.data() ==
          whole.query.view().row(static_cast<std::int64_t>(rank) * layer.query.rows));
    CHECK(layer.key.bytes.data() ==
          whole.key.view().row(static_cast<std::int64_t>(rank / 2) * layer.key.rows));
  }
}

TEST_CASE("the bytes of a rank are those of the memory model where everything divides") {
  ModelSpec spec = tiny_llama(40, 64);
  spec.layers = 3;
  spec.heads = 4;
  spec.kv_heads = 2;
  const ModelWeights whole = random_weights(spec, 5);
  for (const int ranks : {1, 2, 4}) {
    CAPTURE(ranks);
    const ModelWeights part = rank_weights(spec, whole, {ranks - 1, ranks});
    CHECK(stored_bytes(part) == weight_bytes(spec, DType::kF32, ranks));
  }
}

TEST_CASE("shares cover everything once and differ by one; the last ranks of few tokens have none") {
  for (const std::int64_t all : {4, 5, 41, 61, 128}) {
    for (const int ranks : {1, 2, 3, 4}) {
      std::int64_t next = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        const RankShare share = even_share(all, {rank, ranks});
        CHECK(share.first == next);
        CHECK(share.count <= largest_share(all, ranks));
        CHECK(share.count >= largest_share(all, ranks) - 1);
        next = share.end();
      }
      CHECK(next == all);
    }
  }
  CHECK(token_share(9, {0, 4}).count == 3);
  CHECK(token_share(9, {2, 4}).first == 6);
  CHECK(token_share(9, {2, 4}).end() == 9);
  CHECK(token_share(9, {3, 4}).count == 0);
  CHECK(token_share(1, {2, 4}).count == 0);
}

TEST_CASE("with expert parallelism an expert is whole on one rank, and shared experts on all") {
  constexpr SplitLayout kExpertsShared{true, true};
  for (const ModelOracle& model : model_oracles()) {
    if (!model.spec.is_moe()) {
      CHECK(why_not_split(model.spec, 2, kExpertsShared) != "");
      continue;
    }
    for (const int ranks : {2, 4}) {
      CAPTURE(model.name, ranks);
      for (std::size_t index = 0; index < model.weights.layers.size(); ++index) {
        const LayerWeights& whole = model.weights.layers[index];
        std::vector<StoredMatrix> downs;
        std::vector<StoredMatrix> ups;
        for (int rank = 0; rank < ranks; ++rank) {
          const LayerWeights part =
              rank_weights(model.spec, model.weights, {rank, ranks}, kExpertsShared).layers[index];
          CHECK(part.shared.gate == whole.shared.gate);
          CHECK(part.router == whole.router);
          downs.push_back(part.experts.down);
          ups.push_back(part.experts.up);
        }
        if (whole.experts.down.empty()) continue;
        CHECK(downs.front().bytes.data() == whole.experts.down.bytes.data());  // a view
        CHECK(stacked(downs) == whole.experts.down);
        CHECK(stacked(ups) == whole.experts.up);
      }
      CHECK(rank_spec(model.spec, {0, ranks}, kExpertsShared).moe.intermediate ==
            model.spec.moe.intermediate);
    }
  }
}

TEST_CASE("quantised columns are cut between blocks, or the tensor is named") {
  ModelSpec spec = tiny_llama(40, 64);
  spec.heads = 4;
  spec.kv_heads = 2;
  spec.head_dim = 16;
  spec.intermediate = 24;
  ModelWeights whole = random_weights(spec, 5);
  LayerWeights& layer = whole.layers.front();
  std::vector<std::byte> bytes(static_cast<std::size_t>(16 * 2 * 34));
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i % 29);
  layer.output = {DType::kQ8_0, 16, 64, bytes};
  const StoredMatrix upper = rank_weights(spec, whole, {1, 2}).layers.front().output;
  CHECK(upper.dtype == DType::kQ8_0);
  CHECK(floats_of(upper) == floats_of(columns_of(f32_matrix(16, 64, floats_of(layer.output)), 32, 32)));
  try {
    rank_weights(spec, whole, {0, 4});
    FAIL("was not refused");
  } catch (const ConfigError& error) {
    const Problem& problem = error.problems().front();
    CHECK(problem.code == kCodeNotSplit);
    CHECK(problem.message ==
          "model.layers.0.self_attn.o_proj: 64 columns in Q8_0 over 4 ranks are 16 each, which cuts through "
          "blocks of 32");
    CHECK(problem.remedy.find("fewer ranks") != std::string::npos);
  }
}

TEST_CASE("shapes that do not divide are refused with their numbers, and what would is said") {
  ModelSpec spec = tiny_llama(40, 64);
  spec.heads = 6;
  spec.kv_heads = 3;
  spec.intermediate = 36;
  CHECK(why_not_split(spec, 1).empty());
  CHECK(why_not_split(spec, 4) == "6 attention heads cannot be split over 4 ranks");
  CHECK(why_not_split(spec, 2) == "3 KV heads and 2 ranks divide neither way");
  CHECK(ranks_that_split(spec, 8) == "1, 3 or 6");
  SplitLayout experts;
  experts.expert_parallel = true;
  CHECK(ranks_that_split(spec, 8, experts) == "no expert parallelism");  // it has no experts
  CHECK_THROWS_AS(rank_spec(spec, {0, 2}), ConfigError);
  spec.intermediate = 35;
  CHECK(why_not_split(spec, 3) == "35 feed-forward columns cannot be split over 3 ranks");
  spec.moe = {.num_experts = 4, .top_k = 2, .intermediate = 10};
  CHECK(why_not_split(spec, 3) == "10 columns of each expert cannot be split over 3 ranks");
  CHECK(why_not_split(spec, 3, {true, true}).empty());
  CHECK(why_not_split(spec, 6, {true, true}) == "4 experts cannot be split over 6 ranks");
  spec.moe.intermediate = 12;
  CHECK(why_not_split(spec, 3).empty());
  spec.vocab = 5;
  CHECK(why_not_split(spec, 6) == "5 tokens of the vocabulary cannot be split over 6 ranks");
}

}  // namespace
}  // namespace servetwin::test::tensor_parallel_test
