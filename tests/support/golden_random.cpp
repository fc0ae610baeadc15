// See golden_random.h.
#include "tests/support/golden_random.h"

#include <algorithm>
#include <iterator>

#include "engine/base/rng.h"
#include "tests/support/naive_kv.h"

namespace servetwin {

namespace {

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : seed_(seed) {}

  // Uniform on [low, high].
  std::int64_t between(std::int64_t low, std::int64_t high) {
    const std::uint64_t bits = draw_u64({seed_, Stream::kTest, 0}, index_++);
    return low + static_cast<std::int64_t>(bits % static_cast<std::uint64_t>(high - low + 1));
  }

  bool chance(std::int64_t percent) { return between(1, 100) <= percent; }

 private:
  std::uint64_t seed_;
  std::uint32_t index_ = 0;
};

GoldenSetup random_setup(Dice& dice, int depth, bool speculate) {
  static constexpr std::int64_t kBlockSizes[] = {1, 2, 3, 4, 8, 16};
  GoldenSetup setup;
  EngineConfig& engine = setup.engine;
  const std::int64_t block = kBlockSizes[dice.between(0, std::ssize(kBlockSizes) - 1)];
  engine.block_size = Tokens{block};
  engine.max_model_len = Tokens{dice.between(6, 20 * std::min<std::int64_t>(block, 4))};
  engine.num_blocks = Blocks{1 + dice.between(2, 3 + 2 * ceil_div(engine.max_model_len.value, block))};
  engine.chunked_prefill = dice.chance(75);
  const std::int64_t whole = engine.max_model_len.value;
  engine.max_num_batched_tokens =
      Tokens{engine.chunked_prefill ? dice.between(1, whole) : whole + dice.between(0, 20)};
  engine.max_num_seqs = dice.between(1, 6);
  engine.long_prefill_token_threshold = Tokens{dice.chance(30) ? dice.between(1, 12) : 0};
  engine.prefix_caching = dice.chance(80);
  engine.full_sequence_gate = dice.chance(60);
  engine.watermark = dice.chance(25) ? static_cast<double>(dice.between(1, 30)) / 100 : 0;
  engine.in_flight = {depth, speculate};
  setup.by_priority = dice.chance(50);
  if (dice.chance(40)) engine.host_blocks = Blocks{dice.between(1, 2 * engine.num_blocks.value)};
  return setup;
}

// Streams shared with others, cut at block borders half of the time, and often a tail of one's own.
std::vector<ContentSegment> random_content(Dice& dice,
                                           std::uint64_t id,
                                           std::int64_t prompt,
                                           std::int64_t block) {
  std::vector<ContentSegment> content;
  std::int64_t left = prompt;
  for (std::int64_t part = dice.between(0, 2); part > 0 && left > 0; --part) {
    std::int64_t length = dice.between(1, left);
    if (dice.chance(50)) length = std::min(left, ceil_div(length, block) * block);
    content.push_back({static_cast<std::uint64_t>(dice.between(1, 3)), Tokens{length}});
    left -= length;
  }
  if (left > 0 && !content.empty()) content.push_back({100 + id, Tokens{left}});
  return content;
}

GoldenJob random_job(Dice& dice, std::uint32_t id, const EngineConfig& engine, std::int64_t arrival) {
  const std::int64_t length = engine.max_model_len.value;
  const std::int64_t block = engine.block_size.value;
  const std::int64_t pool = (engine.num_blocks.value - 1) * block;
  GoldenJob job;
  RequestSpec& spec = job.spec;
  spec.id = RequestId{id};
  spec.arrival = time_at_ns(arrival);
  spec.prompt = Tokens{dice.chance(50) && length > 2 * block ? block * dice.between(1, (length - 1) / block)
                                                             : dice.between(1, length)};
  const std::int64_t room = std::max<std::int64_t>(1, pool + 1 - spec.prompt.value);
  spec.max_tokens = Tokens{std::min(room, dice.between(1, dice.chance(20) ? length + 5 : 12))};
  job.output = dice.chance(50) ? dice.between(1, spec.max_tokens.value) : spec.max_tokens.value + 1;
  spec.priority = static_cast<std::int32_t>(dice.between(0, 2));
  spec.adapter = AdapterId{static_cast<std::uint16_t>(dice.chance(10) ? 1 : 0)};
  spec.cache_salt = dice.chance(10) ? 5 : 0;
  spec.content = random_content(dice, id, spec.prompt.value, block);
  spec.continues_content = !spec.content.empty() && dice.chance(40);
  if (dice.chance(10)) {
    spec.waits_for = WaitsFor::kRemoteKv;
    job.ready = spec.arrival + Duration{dice.between(1, 40)};
  }
  if (dice.chance(15)) job.cancelled = spec.arrival + Duration{dice.between(1, 60)};
  return job;
}

}  // namespace

GoldenScenario random_scenario(std::uint64_t seed, int depth, bool speculate) {
  Dice dice(seed);
  GoldenScenario scenario{random_setup(dice, depth, speculate), {}, {}};
  const std::int64_t jobs = dice.between(2, 12);
  std::int64_t arrival = 0;
  for (std::uint32_t id = 0; id < jobs; ++id) {
    if (dice.chance(70)) arrival += dice.between(0, 12);
    scenario.jobs.push_back(random_job(dice, id, scenario.setup.engine, arrival));
  }
  for (std::int64_t n = dice.between(1, 4); n > 0; --n) {
    scenario.step_durations.emplace_back(dice.between(1, 6));
  }
  return scenario;
}

GoldenScenario random_windowed_scenario(std::uint64_t seed, int depth, bool speculate) {
  GoldenScenario scenario = random_scenario(seed, depth, speculate);
  EngineConfig& engine = scenario.setup.engine;
  Dice dice(seed ^ 0x77696e646f77ULL);
  engine.host_blocks = Blocks{0};
  const std::int64_t length = engine.max_model_len.value;
  for (std::int64_t n = dice.between(1, 3); n > 0; --n) {
    KvRetention group;
    if (n > 1 || dice.chance(60))
      group.window = Tokens{dice.between(2, std::max<std::int64_t>(2, length / 2))};
    if (group.window.value > 0 && dice.chance(30)) group.sink = Tokens{dice.between(1, 6)};
    engine.kv_groups.push_back(group);
  }
  std::int64_t most = 2;
  for (const GoldenJob& job : scenario.jobs) {
    const std::int64_t tokens = std::min(length, (job.spec.prompt + job.spec.max_tokens).value);
    most = std::max(most, NaiveKv(engine).most(tokens));
  }
  engine.num_blocks = Blocks{1 + most + dice.between(0, most)};
  return scenario;
}

}  // namespace servetwin
