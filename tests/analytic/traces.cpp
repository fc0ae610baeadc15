// If one of these fails, real traffic does not run to its end with every request accounted for, or the prefix
// cache is not the cache that a count by hand says it is.
#include <array>
#include <filesystem>

#include "engine/base/samplers.h"
#include "tests/analytic/naive_lru.h"
#include "tests/sim/sim_support.h"
#include "tests/support/catch.h"
#include "tests/workload/nodes.h"

namespace servetwin::test_traces {
namespace {

using namespace test;

constexpr const char* kAzure = "traces_azure2023/conv.csv";
constexpr const char* kMooncake = "traces_mooncake/conversation_trace.jsonl";

// Null, with a warning, where the folder of recorded data is not there.
std::unique_ptr<RequestSource> open_trace(const char* name) {
  const std::string path = std::string(SERVETWIN_DATA_DIR) + "/" + name;
  if (!std::filesystem::exists(path)) {
    WARN("SKIPPED: there is no " << path);
    return nullptr;
  }
  return source_of(map_of({{"trace", map_of({{"file", text(path)}})}}));
}

// The fate of every request, by id.
class Fates final : public Observer {
 public:
  std::vector<RequestRecord> records;
  std::array<std::int64_t, kNumEndStates> ended{};
  std::int64_t arrived = 0;

  void on_arrived(const RequestSpec& /*request*/, Time /*now*/) override { ++arrived; }
  void on_end(const RequestRecord& record) override {
    if (records.size() <= raw(record.id)) records.resize(raw(record.id) + 1);
    records[raw(record.id)] = record;
    ++ended[static_cast<std::size_t>(record.end_state)];
  }
  std::int64_t count(EndState state) const { return ended[static_cast<std::size_t>(state)]; }
  std::int64_t all_ended() const {
    std::int64_t sum = 0;
    for (const std::int64_t count : ended) sum += count;
    return sum;
  }
};

struct TraceRun {
  Fates fates;
  std::uint64_t injected = 0;
  std::size_t unfinished = 0;
  std::uint64_t decisions = 0;
  std::uint64_t timeline = 0;
};

void run_trace(RequestSource& source, EngineConfig config, bool plain, TraceRun& result) {
  TestCost cost;
  cost.per_context = 20;
  SimOptions options;
  options.shortcut = !plain;
  SimBackend backend(source, {&cost}, options);
  config.plain_loop = plain;
  Cluster cluster({{config}, 0}, [] { return make_rules(RuleNames{}); },
                  Registry<Router>::instance().make("round_robin", ConfigNode{}), {&result.fates});
  backend.attach(cluster);
  serve(cluster, backend);
  CHECK(cluster.at(ReplicaId{0}).kv().used() == Blocks{0});
  result.injected = backend.num_arrivals();
  result.unfinished = cluster.unfinished();
  result.decisions = cluster.decisions_digest();
  result.timeline = cluster.timeline_digest();
}

EngineConfig engine(std::int64_t max_model_len, std::int64_t num_blocks, std::int64_t max_num_seqs = 256) {
  EngineConfig config;
  config.max_model_len = Tokens{max_model_len};
  config.num_blocks = Blocks{num_blocks};
  config.max_num_seqs = max_num_seqs;
  return config;
}

void check_all_accounted(const TraceRun& run, std::int64_t requests) {
  CHECK(run.unfinished == 0);
  CHECK(static_cast<std::int64_t>(run.injected) == requests);
  CHECK(run.fates.arrived == requests);
  CHECK(run.fates.all_ended() == requests);
}

TEST_CASE("the Azure conversation trace runs to its end, the same with and without the shortcut") {
  std::array<TraceRun, 2> runs;
  for (const bool plain : {false, true}) {
    const auto source = open_trace(kAzure);
    if (source == nullptr) return;
    run_trace(*source, engine(16384, 6001), plain, runs[plain ? 1 : 0]);
  }
  for (const TraceRun& run : runs) {
    check_all_accounted(run, 19'366);
    CHECK(run.fates.count(EndState::kStop) + run.fates.count(EndState::kLength) == 19'366);
  }
  CHECK(runs[0].decisions == runs[1].decisions);
  CHECK(runs[0].timeline == runs[1].timeline);
}

TEST_CASE("the Mooncake conversation trace runs to its end and rejects nobody with a context of 131072") {
  const auto source = open_trace(kMooncake);
  if (source == nullptr) return;
  TraceRun run;
  run_trace(*source, engine(131072, 30001), false, run);
  check_all_accounted(run, 12'031);
  CHECK(run.fates.count(EndState::kStop) + run.fates.count(EndState::kLength) == 12'031);
}

TEST_CASE("with a context of 65536 the Mooncake trace loses 254 requests and the outputs past the context") {
  const auto source = open_trace(kMooncake);
  const auto again = open_trace(kMooncake);
  if (source == nullptr) return;
  TraceRun run;
  run_trace(*source, engine(65536, 30001), false, run);
  check_all_accounted(run, 12'031);
  CHECK(run.fates.count(EndState::kRejected) == 254);
  std::int64_t clipped = 0;
  for (const WorkloadItem& item : take_all(*again)) {
    const RequestRecord& record = run.fates.records[raw(item.spec.id)];
    const std::int64_t room = 65536 - item.spec.prompt.value;
    if (room <= 0) {
      CHECK(record.end_reason == EndReason::kPromptTooLong);
      CHECK(record.outputs == Tokens{0});
      continue;
    }
    const bool cut = room < item.truth.output.value;
    clipped += cut ? 1 : 0;
    if (cut) CHECK(record.end_state == EndState::kLength);
    CHECK(record.outputs.value == std::min(room, item.truth.output.value));
  }
  CHECK(clipped > 0);
  CHECK(run.fates.count(EndState::kLength) >= clipped);
}

// Serves the Mooncake trace one request at a time and counts where the tokens found differ from `count`,
// which is given each request in turn. Returns the share of prompt tokens that were found.
template <class Count>
double compare_hits(std::int64_t num_blocks, Count count) {
  const auto source = open_trace(kMooncake);
  const auto again = open_trace(kMooncake);
  if (source == nullptr) return 0;
  TraceRun run;
  run_trace(*source, engine(131072, num_blocks, 1), false, run);
  check_all_accounted(run, 12'031);
  std::int64_t prompts = 0;
  std::int64_t hits = 0;
  std::int64_t different = 0;
  for (const WorkloadItem& item : take_all(*again)) {
    const RequestRecord& record = run.fates.records[raw(item.spec.id)];
    different += count(item) == record.cached.value ? 0 : 1;
    prompts += item.spec.prompt.value;
    hits += record.cached.value;
  }
  CHECK(different == 0);
  return static_cast<double>(hits) / static_cast<double>(prompts);
}

bool have_mooncake() { return open_trace(kMooncake) != nullptr; }

TEST_CASE("an unbounded pool finds 0.3736 of the Mooncake prompt tokens, as an independent count does") {
  if (!have_mooncake()) return;
  NaiveUnbounded cache(16, 512);
  const double rate = compare_hits(10'000'000, [&](const WorkloadItem& item) {
    return cache.serve(item.spec.content, item.spec.prompt.value);
  });
  CHECK(std::abs(rate - 0.3736) < 0.00005);
}

TEST_CASE("a bounded pool finds for every Mooncake request what a naive LRU of single blocks finds",
          "[slow]") {
  if (!have_mooncake()) return;
  const std::int64_t num_blocks = GENERATE(9'001, 50'001);
  NaiveLru cache(num_blocks - 1, 16, 512);
  const double rate = compare_hits(num_blocks, [&](const WorkloadItem& item) {
    return cache.serve(item.spec.content, item.spec.prompt.value, item.truth.output.value);
  });
  CHECK(rate > 0.02);
  CHECK(rate < 0.3736);
}

TEST_CASE(
    "what is allocated and not written is half a block less half a token, for lengths that are uniform") {
  const std::int64_t size = GENERATE(16, 256);
  std::vector<WorkloadItem> items(40'000);
  for (std::uint32_t id = 0; id < items.size(); ++id) {
    const StreamKey key{5, Stream::kTest, id};
    RequestSpec& spec = items[id].spec;
    spec.id = RequestId{id};
    spec.arrival = time_at_ns(std::int64_t{id} * 20'000'000);
    spec.prompt = Tokens{sample_uniform_int(key, 0, 1, 1024)};
    spec.max_tokens = Tokens{40};
    items[id].truth.output = Tokens{sample_uniform_int(key, 1, 1, 40)};
  }
  ListSource source(std::move(items));
  EngineConfig config = engine(2048, 20'000'000 / size / 256);
  config.block_size = Tokens{size};
  TraceRun run;
  run_trace(source, config, false, run);
  check_all_accounted(run, 40'000);
  double waste = 0;
  for (const RequestRecord& record : run.fates.records)
    waste += static_cast<double>(record.waste_at_end.value);
  const double mean = waste / 40'000;
  const double expected = static_cast<double>(size - 1) / 2;
  INFO(mean);
  CHECK(std::abs(mean - expected) < 0.01 * expected);
}

}  // namespace
}  // namespace servetwin::test_traces
