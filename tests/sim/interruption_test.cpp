// If one of these fails, there is a moment at which something that comes from outside breaks the core: each
// event is tried before and after every single event of small runs with preemption and shared prefixes.
#include <map>
#include <set>

#include "tests/sim/hand_world.h"
#include "tests/support/catch.h"

namespace servetwin::interruption_test {
namespace {

using namespace test;

constexpr ReplicaId kFirst{0};
constexpr std::uint32_t kRequests = 6;

class Arrivals final : public Collect {
 public:
  std::set<RequestId> arrived;
  void on_arrived(const RequestSpec& request, Time /*now*/) override { arrived.insert(request.id); }
};

struct Mode {
  bool plain;
  int depth;
  bool speculate;
  const char* waiting_order;
  bool swaps = false;
};

// Prompts share a prefix in pairs; nine blocks of four hold about two of the six requests.
std::vector<WorkloadItem> crowd() {
  std::vector<WorkloadItem> items(kRequests);
  for (std::uint32_t id = 0; id < kRequests; ++id) {
    RequestSpec& spec = items[id].spec;
    spec.id = RequestId{id};
    spec.arrival = at_ms(4 * (id / 2));
    spec.prompt = Tokens{11};
    spec.max_tokens = Tokens{9 + id};
    spec.priority = static_cast<std::int32_t>(id % 2);
    spec.content = {{id / 2, Tokens{8}}, {100 + id, Tokens{3}}};
    items[id].truth.output = Tokens{id % 3 == 0 ? 6 : 30};
  }
  return items;
}

EngineConfig engine(const Mode& mode) {
  EngineConfig config = small_engine(mode.plain);
  config.in_flight = {mode.depth, mode.speculate};
  config.num_blocks = Blocks{10};
  config.max_num_batched_tokens = Tokens{16};
  if (mode.swaps) config.host_blocks = Blocks{6};
  return config;
}

RequestId request_of(const Event& event) {
  const bool of_request =
      kind_of(event) == EventKind::kCancelled || kind_of(event) == EventKind::kClientWindow;
  return of_request ? RequestId{subject_of(event)} : kNoRequest;
}

// One run, into which `events` come right before (or after) the event number `index`. Returns whether the run
// was that long; `ends` counts how the requests ended.
bool interrupted_run(const Mode& mode,
                     std::uint64_t index,
                     bool after,
                     const std::vector<Event>& events,
                     std::map<EndState, int>& ends,
                     std::int64_t& preemptions) {
  ListSource source(crowd());
  TestCost cost;
  SimOptions options;
  options.shortcut = !mode.plain;
  SimBackend backend(source, {&cost}, options);
  Arrivals collect;
  RuleNames names;
  names.waiting_order = mode.waiting_order;
  if (names.waiting_order == "priority") names.victim = "least_important";
  if (mode.swaps) names.pressure = "swap";
  Cluster cluster({{engine(mode)}, 0}, [&] { return make_rules(names); },
                  Registry<Router>::instance().make("round_robin", ConfigNode{}), {&collect});
  backend.attach(cluster);
  StampedEvent event;
  std::uint64_t number = 0;
  bool reached = false;
  while (backend.next(event)) {
    if (after) cluster.handle(event, backend);
    if (number++ == index) {
      reached = true;
      for (const Event& extra : events) {
        const RequestId about = request_of(extra);
        // Before its arrival the core cannot hear of a request.
        if (about != kNoRequest && collect.arrived.count(about) == 0) continue;
        cluster.handle({event.time, extra, 0}, backend);
      }
    }
    if (!after) cluster.handle(event, backend);
    REQUIRE(number < 2000);
  }
  CHECK(cluster.unfinished() == 0);
  CHECK(cluster.at(kFirst).kv().used() == Blocks{0});
  CHECK(cluster.at(kFirst).state().host_used == Blocks{0});
  CHECK(cluster.at(kFirst).idle());
  cluster.at(kFirst).kv().check_all();
  preemptions += collect.preemptions;
  for (const RequestRecord& record : collect.records) {
    ++ends[record.end_state];
    const WorkloadItem item = crowd()[raw(record.id)];
    if (record.end_state == EndState::kStop) CHECK(record.outputs == item.truth.output);
    if (record.end_state == EndState::kLength) CHECK(record.outputs == item.spec.max_tokens);
  }
  CHECK(collect.records.size() == kRequests);
  return reached;
}

// Tries it at every place of the run; returns at how many there were.
int everywhere(const Mode& mode, const std::vector<Event>& events, std::map<EndState, int>& ends) {
  int places = 0;
  std::int64_t preemptions = 0;
  for (const bool after : {false, true}) {
    for (std::uint64_t index = 0; interrupted_run(mode, index, after, events, ends, preemptions); ++index)
      ++places;
  }
  CHECK(preemptions > 0);
  return places;
}

Mode any_mode() {
  return GENERATE(Mode{true, 1, false, "fcfs"}, Mode{false, 1, false, "fcfs"}, Mode{true, 2, false, "fcfs"},
                  Mode{true, 2, true, "fcfs"}, Mode{false, 1, false, "priority"},
                  Mode{true, 2, true, "priority"}, Mode{false, 1, false, "fcfs", true},
                  Mode{true, 2, true, "fcfs", true});
}

TEST_CASE("a client may go away at any moment: nobody is lost and every block comes back") {
  const Mode mode = any_mode();
  for (std::uint32_t victim = 0; victim < kRequests; ++victim) {
    std::map<EndState, int> ends;
    const int places = everywhere(mode, {Cancelled{RequestId{victim}, EndReason::kClient}}, ends);
    INFO("victim " << victim << " depth " << mode.depth << " plain " << mode.plain);
    CHECK(places > 40);
    CHECK(ends[EndState::kCancelled] > 10);
    CHECK(ends[EndState::kCancelled] <= places);
    CHECK(ends[EndState::kRejected] + ends[EndState::kFailed] + ends[EndState::kTimedOut] == 0);
  }
}

TEST_CASE("a forced cache reset at any moment loses no request and no token") {
  std::map<EndState, int> ends;
  const int places = everywhere(any_mode(), {Admin{kFirst, AdminAction::kResetCacheForced}}, ends);
  CHECK(ends[EndState::kStop] + ends[EndState::kLength] == (places + 2) * static_cast<int>(kRequests));
}

TEST_CASE("a pause that is taken back at any moment loses nothing") {
  std::map<EndState, int> ends;
  const int places =
      everywhere(any_mode(), {Admin{kFirst, AdminAction::kPause}, Admin{kFirst, AdminAction::kResume}}, ends);
  CHECK(ends[EndState::kStop] + ends[EndState::kLength] == (places + 2) * static_cast<int>(kRequests));
}

TEST_CASE("a window that shuts at any moment and its client that goes away leave nothing behind") {
  const Mode mode = any_mode();
  for (std::uint32_t victim = 0; victim < kRequests; ++victim) {
    std::map<EndState, int> ends;
    everywhere(mode,
               {ClientWindow{RequestId{victim}, false}, Cancelled{RequestId{victim}, EndReason::kDeadline}},
               ends);
    CHECK(ends[EndState::kTimedOut] > 10);
  }
}

}  // namespace
}  // namespace servetwin::interruption_test
