// If these fail, a rank that fails is not named, or the others wait for it for ever.
#include <algorithm>
#include <atomic>
#include <thread>

#include "tests/live/live_model_rig.h"
#include "tests/support/catch.h"
#include "tests/support/model_oracles.h"

namespace servetwin::test::rank_team_test {
namespace {

RunnerOptions sizes(std::chrono::milliseconds deadline) {
  RunnerOptions options;
  options.num_blocks = Blocks{8};
  options.max_model_len = Tokens{64};
  options.name = "replica 3";
  options.deadline = deadline;
  return options;
}

// One row in block 1.
StepBatch batch_of(std::int64_t tokens) {
  StepBatch batch;
  batch.step = StepId{5};
  batch.rows = {{RequestId{1}, Tokens{tokens}, Tokens{0}, true}};
  batch.cu_seqlens = {0, static_cast<std::int32_t>(tokens)};
  batch.seq_lens = {static_cast<std::int32_t>(tokens)};
  batch.groups.front().block_tables = {1};
  batch.table_starts = {0};
  for (std::int64_t i = 0; i < tokens; ++i) batch.groups.front().slots.push_back(16 + i);
  return batch;
}

std::string failure_of(RankTeam& team, const RankTeam::Work& work) {
  try {
    team.run("step 5", work);
  } catch (const RankError& error) {
    return error.what();
  }
  return "";
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST_CASE("all ranks do the work at once, each on its thread, the first on the caller's") {
  const ModelOracle& model = model_oracles().front();
  const SplitWeights weights(model.spec, model.weights, 4);
  RankTeam team(model.spec, weights.parts(), sizes(std::chrono::seconds(60)));
  std::vector<std::thread::id> threads(4);
  std::atomic<int> here = 0;
  team.run("meeting", [&](RankModel& rank) {
    threads[static_cast<std::size_t>(rank.rank())] = std::this_thread::get_id();
    ++here;
    rank.group()->barrier();
    if (here != 4) throw std::runtime_error("met alone");
  });
  CHECK(threads[0] == std::this_thread::get_id());
  std::sort(threads.begin(), threads.end());
  CHECK(std::unique(threads.begin(), threads.end()) == threads.end());
}

TEST_CASE("a rank that throws ends the others at once and is named with what it did; the team stays failed") {
  const ModelOracle& model = model_oracles().front();
  const SplitWeights weights(model.spec, model.weights, 4);
  RankTeam team(model.spec, weights.parts(), sizes(std::chrono::hours(1)));  // nobody waits as long
  const std::vector<TokenId> tokens(model.tokens.begin(), model.tokens.begin() + 5);
  const StepBatch batch = batch_of(5);
  const std::string text = failure_of(team, [&](RankModel& rank) {
    if (rank.rank() == 2) throw std::runtime_error("no memory left");
    rank.forward(batch, tokens);
  });
  CHECK(text == "replica 3: rank 2 of 4 failed in step 5: no memory left");
  CHECK(failure_of(team, [](RankModel& /*rank*/) {}) == text);
}

TEST_CASE("when a rank does not come, the others end after the deadline, with the operation and its number") {
  const ModelOracle& model = model_oracles().front();
  const SplitWeights weights(model.spec, model.weights, 2);
  RankTeam team(model.spec, weights.parts(), sizes(std::chrono::milliseconds(50)));
  const std::vector<TokenId> tokens(model.tokens.begin(), model.tokens.begin() + 5);
  const StepBatch batch = batch_of(5);
  const std::string text = failure_of(team, [&](RankModel& rank) {
    if (rank.rank() == 0) rank.forward(batch, tokens);
  });
  CAPTURE(text);
  CHECK(has(text, "replica 3: rank 0 of 2 failed in step 5: "));
  CHECK(has(text, "all-reduce"));
  CHECK(has(text, "rank 1"));
}

TEST_CASE("ranks that call different things are told so") {
  const ModelOracle& model = model_oracles().front();
  const SplitWeights weights(model.spec, model.weights, 2);
  RankTeam team(model.spec, weights.parts(), sizes(std::chrono::hours(1)));
  const std::vector<TokenId> tokens(model.tokens.begin(), model.tokens.begin() + 5);
  const StepBatch longer = batch_of(5);
  const StepBatch shorter = batch_of(4);
  const std::string text = failure_of(team, [&](RankModel& rank) {
    if (rank.rank() == 0) {
      rank.forward(longer, tokens);
    } else {
      rank.forward(shorter, {tokens.begin(), tokens.begin() + 4});
    }
  });
  CAPTURE(text);
  CHECK(has(text, "all-reduce"));
}

}  // namespace
}  // namespace servetwin::test::rank_team_test
