// If one of these fails, durations from operation tables are not what the rule says, or a table that does not
// fit a run is used all the same.
#include "tests/costmodels/cost_test_support.h"
#include "tests/costmodels/operation_folder.h"
#include "tests/support/catch.h"
#include "tests/support/check_throws.h"

namespace servetwin::vidur_tables_test {
namespace {

// Every operation takes a different power of ten, so that a sum shows what went into it.
OperationTexts telling_tables() {
  OperationTexts texts;
  texts.by_tokens =
      std::string(kByTokensHeader) + "8,1,1,1,1,1,1,1,1,1,1,1000,10\n" + "16,2,2,2,2,2,2,2,2,2,2,1000,20\n";
  texts.attn_decode = "batch_size,kv_from,kv_to,ms\n1,0,64,100\n1,128,192,200\n2,0,64,300\n2,128,192,400\n";
  texts.attn_prefill =
      "kv,chunk_from,chunk_to,ms\n0,1,5,500\n0,6,16,600\n64,1,16,700\n128,1,16,800\n192,1,16,900\n";
  texts.cpu_overhead = "num_requests,schedule_ms,sampler_ms\n1,0.25,0.5\n2,0.5,1\n";
  return texts;
}

class Tables {
 public:
  explicit Tables(const OperationTexts& texts = telling_tables()) : folder_("telling_ops", texts) {
    model_ = llama_8b();
    model_.layers = 2;
    context.model = &model_;
  }

  std::unique_ptr<CostModel> cost(Entries entries = {}) const {
    return make_cost("vidur_tables", with_folder(entries), context);
  }
  Problem problem(Entries entries = {}) const {
    return problem_making("vidur_tables", with_folder(entries), context);
  }
  double ms(const TestStep& step, const Entries& entries = {}) const {
    return to_milliseconds(time_of(*cost(entries), step));
  }
  ModelSpec& model() { return model_; }

  CostContext context;

 private:
  Entries with_folder(Entries entries) const {
    entries.emplace_back("ops", folder_.path());
    entries.emplace_back("attention", "measured");
    return entries;
  }

  OperationFolder folder_;
  ModelSpec model_;
};

TEST_CASE("operations are looked up at the tokens rounded up to 8 and count once a layer") {
  const Tables tables;
  CHECK(tables.ms(decode_shape(1, 64)) == 2 * (10 + 100));
  CHECK(tables.ms(with_prefill({}, 8, 0)) == 2 * (10 + 600));
  CHECK(tables.ms(with_prefill({}, 9, 0)) == 2 * (20 + 600));
}

TEST_CASE("decode attention is looked up at the mean context, floored, then rounded up to 64") {
  const Tables tables;
  CHECK(tables.ms(decode_shape(1, 65)) == 2 * (10 + 200));
  StepShape shape = decode_shape(2, 64);
  const double below = 2 * (10 + 300 * 1.1);
  CHECK(tables.ms(shape) == Approx(below));
  shape.decode_context += 1;
  CHECK(tables.ms(shape) == Approx(below));
  shape.decode_context += 1;
  CHECK(tables.ms(shape) == Approx(2 * (10 + 400 * 1.1)));
}

TEST_CASE("prefill rows are one row: contexts rounded up one by one, chunks by their root sum of squares") {
  const Tables tables;
  CHECK(tables.ms(with_prefill({}, 5, 0)) == 2 * (10 + 500));
  CHECK(tables.ms(with_prefill({}, 5, 1)) == 2 * (10 + 700));
  // 3 and 4 make 5; 1 + 1 tokens of context are 128 on the grid.
  CHECK(tables.ms(with_prefill(with_prefill({}, 3, 0), 4, 0)) == Approx(2 * (10 + 500 * 1.1)));
  CHECK(tables.ms(with_prefill(with_prefill({}, 3, 1), 4, 1)) == Approx(2 * (10 + 800 * 1.1)));
  // The root of 29 is 5.4 and goes down, that of 32 is 5.7 and goes up.
  CHECK(tables.ms(with_prefill(with_prefill({}, 5, 0), 2, 0)) == Approx(2 * (10 + 500 * 1.1)));
  CHECK(tables.ms(with_prefill(with_prefill({}, 4, 0), 4, 0)) == Approx(2 * (10 + 600 * 1.1)));
}

TEST_CASE("batched attention costs no more where every head has its own keys") {
  Tables tables;
  tables.model().kv_heads = tables.model().heads;
  CHECK(tables.ms(decode_shape(2, 64)) == 2 * (10 + 300));
}

TEST_CASE("ranks talk twice a layer, stages once but for the last, and the host once") {
  Tables tables;
  const StepShape shape = decode_shape(1, 64);
  tables.context.tp = 2;
  CHECK(tables.ms(shape) == Approx(2 * (10 + 100 + 2 * 10.02)));
  tables.context.pp = 2;
  CHECK(tables.ms(shape) == Approx(10 + 100 + 2 * 10.02 + 1000));
  CHECK(tables.ms(shape, {{"stage", "1"}}) == Approx(10 + 100 + 2 * 10.02));
  CHECK(tables.ms(shape, {{"stage", "1"}, {"cpu_overhead", "true"}}) == Approx(10 + 100 + 2 * 10.02 + 0.75));
  const StepCost cost = cost_of(*tables.cost({{"cpu_overhead", "true"}}), shape);
  CHECK(part(cost, OpClass::kHost).ns == 0.75e6);
}

TEST_CASE("times between measured ones are interpolated, another model's are extrapolated and said to be") {
  const Tables tables;
  const auto own = tables.cost();
  CHECK(own->evidence() == Evidence::kInterpolated);
  const OperationFolder folder("surrogate_ops", telling_tables());
  const auto other =
      make_cost("vidur_tables", {{"ops", folder.path()}, {"attention", "surrogate"}}, tables.context);
  CHECK(other->evidence() == Evidence::kExtrapolated);
  CHECK(other->describe().find("no statement about a device's speed") != std::string::npos);
  const StepCost cost = cost_of(*other, decode_shape(1, 64));
  CHECK(part(cost, OpClass::kGemm).evidence == Evidence::kInterpolated);
  CHECK(part(cost, OpClass::kAttentionDecode).evidence == Evidence::kExtrapolated);
  CHECK(problem_making("vidur_tables", {{"ops", folder.path()}}, tables.context).path.find("attention") !=
        std::string::npos);
}

TEST_CASE("an engine whose steps can outgrow the tables is refused with the limit that fits") {
  Tables tables;
  tables.context.limits = {16, 2, 192};
  CHECK(tables.problem().code == "none");
  tables.context.limits.tokens = 17;
  CHECK(tables.problem().path == "spec.engine.max_num_batched_tokens");
  CHECK(tables.problem().remedy == "set 16");
  tables.context.limits = {16, 3, 192};
  CHECK(tables.problem().path == "spec.engine.max_num_seqs");
  tables.context.limits = {16, 2, 193};
  CHECK(tables.problem().path == "spec.engine.max_model_len");
}

TEST_CASE("a step beyond the tables, or without its rows, breaks an invariant") {
  make_checks_throw();
  const Tables tables;
  const auto cost = tables.cost();
  CHECK_THROWS_AS(time_of(*cost, decode_shape(3, 64)), BrokenInvariant);
  CHECK_THROWS_AS(time_of(*cost, decode_shape(1, 193)), BrokenInvariant);
  CHECK_THROWS_AS(time_of(*cost, with_prefill({}, 17, 0)), BrokenInvariant);
  CHECK_THROWS_AS(time_of(*cost, with_prefill({}, 8, 193)), BrokenInvariant);
  CHECK_THROWS_AS(time_of(*cost, with_prefill({}, 8, 0).shape), BrokenInvariant);
}

TEST_CASE("broken tables are refused with file and line") {
  const auto problem = [](OperationTexts texts) { return Tables(texts).problem(); };
  OperationTexts texts = telling_tables();
  texts.attn_decode = "batch_size,kv_from,kv_to,ms\n1,0,64,fast\n";
  CHECK(problem(texts).place.line == 2);
  texts.attn_decode = "batch_size,kv_from,kv_to,ms\n1,0,64,1\n1,64,128,1\n";
  CHECK(problem(texts).message.find("overlaps") != std::string::npos);
  texts.attn_decode = "batch_size,kv_from,kv_to,ms\n1,0,64\n";
  CHECK(problem(texts).message == "has 3 cells, not 4");
  texts.attn_decode = "batch_size,kv_from,kv_to,ms\n1,0,64,-1\n";
  CHECK(problem(texts).message == "ms is negative");
  texts.attn_decode = "batch_size,kv_from,kv_to,ms\n";
  CHECK(problem(texts).message == "holds no row");
  texts = telling_tables();
  texts.by_tokens = std::string(kByTokensHeader) + "16,1,1,1,1,1,1,1,1,1,1,1,1\n";
  CHECK(problem(texts).message.find("steps of 8") != std::string::npos);
  texts.by_tokens = "num_tokens,add_ms\n8,1\n";
  CHECK(problem(texts).message == "has no column attn_pre_proj_ms");
  CHECK(problem(OperationTexts{}).message == "holds no row");
}

TEST_CASE("the hash of a profile follows every number of its tables") {
  const std::uint64_t hash = Tables().cost()->profile_hash();
  OperationTexts texts = telling_tables();
  texts.attn_prefill.replace(texts.attn_prefill.rfind("900"), 3, "901");
  CHECK(Tables(texts).cost()->profile_hash() != hash);
}

}  // namespace
}  // namespace servetwin::vidur_tables_test
