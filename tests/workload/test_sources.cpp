// If this failed, clients would behave otherwise than the scenario says: conversations that forget, users
// that do not wait, draws that shift when something else changes.
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "tests/support/catch.h"
#include "tests/workload/nodes.h"

namespace servetwin::test_sources {
namespace {

Entries poisson(const std::string& num_requests = "1000") {
  return {{"num_requests", text(num_requests)},
          {"arrivals", map_of({{"process", text("poisson")}, {"rate", text("10/s")}})},
          {"lengths", lengths("100", "20")}};
}

ConfigNode with(Entries base, const std::string& key, const ConfigNode& value) {
  for (auto& entry : base) {
    if (entry.first == key) {
      entry.second = value;
      return map_of(base);
    }
  }
  base.emplace_back(key, value);
  return map_of(base);
}

std::vector<WorkloadItem> items_of(const ConfigNode& node, std::uint64_t seed = 1) {
  return take_all(*source_of(node, seed));
}

double share_of(const std::vector<WorkloadItem>& items, const std::function<bool(const WorkloadItem&)>& is) {
  return static_cast<double>(std::count_if(items.begin(), items.end(), is)) /
         static_cast<double>(items.size());
}

// A share p of n draws is off by more than 5 standard errors once in 1.7 million runs; seeds are fixed.
bool near_share(double measured, double share, double n) {
  return std::abs(measured - share) < 5 * std::sqrt(share * (1 - share) / n);
}

// Serves a source in order of time, every request taking `service`; calls `see` with each item and the number
// outstanding, itself included.
void serve_all(RequestSource& source,
               Duration service,
               const std::function<void(const WorkloadItem&, std::size_t)>& see) {
  std::multimap<Time, WorkloadItem> running;
  while (true) {
    const Time arrival = source.next_arrival();
    if (!running.empty() && running.begin()->first <= arrival) {
      const WorkloadItem item = running.begin()->second;
      running.erase(running.begin());
      source.on_end(ended(item, service));
      continue;
    }
    if (arrival == kTimeNever) return;
    WorkloadItem item;
    source.take(item);
    running.emplace(item.spec.arrival + service, item);
    see(item, running.size());
  }
}

}  // namespace

TEST_CASE("an open loop gives the requests asked for, numbered in order of arrival") {
  const auto source = source_of(map_of(poisson()));
  CHECK(source->total() == 1000);
  CHECK_FALSE(source->facts().closed_loop);
  const auto items = take_all(*source);
  REQUIRE(items.size() == 1000);
  for (std::size_t i = 0; i < items.size(); ++i) {
    CHECK(raw(items[i].spec.id) == i);
    CHECK(items[i].spec.prompt == Tokens{100});
    CHECK(items[i].spec.content.empty());
    CHECK(items[i].spec.session == kNoSession);
    if (i > 0) CHECK(items[i - 1].spec.arrival <= items[i].spec.arrival);
  }
}

TEST_CASE("a duration ends the arrivals") {
  Entries entries = poisson();
  entries[0] = {"duration", text("50s")};
  const auto items = items_of(map_of(entries));
  CHECK(items.size() > 350);
  CHECK(items.back().spec.arrival < kTimeZero + std::chrono::seconds(50));
}

TEST_CASE("changing one draw shifts no other") {
  const ConfigNode drawn =
      map_of({{"distribution", text("lognormal")}, {"mean", text("100")}, {"cv", text("1")}});
  const ConfigNode both = map_of({{"input", drawn}, {"output", drawn}});
  const ConfigNode only = map_of({{"input", drawn}, {"output", text("9")}});
  const auto a = items_of(with(poisson(), "lengths", both));
  const auto b = items_of(with(poisson(), "lengths", only));
  Entries more = poisson();
  more[2].second = both;
  more.emplace_back("cancellations",
                    map_of({{"share", text("0.5")}, {"after", map_of({{"mean", text("1s")}})}}));
  more.emplace_back("tenants", map_of({{"count", text("9")}}));
  const auto c = items_of(map_of(more));
  const auto other_seed = items_of(with(poisson(), "lengths", both), 2);
  int changed = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    CHECK(a[i].spec.arrival == b[i].spec.arrival);
    CHECK(a[i].spec.prompt == b[i].spec.prompt);
    CHECK(a[i].spec.arrival == c[i].spec.arrival);
    CHECK(a[i].spec.prompt == c[i].spec.prompt);
    CHECK(a[i].truth.output == c[i].truth.output);
    if (a[i].spec.prompt != other_seed[i].spec.prompt) ++changed;
  }
  CHECK(changed > 900);
}

TEST_CASE("classes come in the shares of their weights and override the workload") {
  Entries entries = poisson("20000");
  entries.emplace_back("priority", text("5"));
  entries.emplace_back("classes", list({map_of({{"name", text("chat")}, {"weight", text("3")}}),
                                        map_of({{"name", text("batch")},
                                                {"weight", text("1")},
                                                {"priority", text("9")},
                                                {"max_tokens", text("output")},
                                                {"lengths", lengths("4000", "7")}})}));
  const auto source = source_of(map_of(entries));
  CHECK(source->facts().uses_oracle);
  CHECK(source->facts().classes == std::vector<std::string>{"chat", "batch"});
  const auto items = take_all(*source);
  for (const WorkloadItem& item : items) {
    const bool batch = item.spec.traffic_class == ClassId{1};
    CHECK(item.spec.priority == (batch ? 9 : 5));
    CHECK(item.spec.prompt == Tokens{batch ? 4000 : 100});
    CHECK(item.spec.max_tokens == Tokens{batch ? 7 : 4096});
    CHECK(item.spec.stat_group == static_cast<std::uint8_t>(item.spec.traffic_class));
  }
  CHECK(near_share(share_of(items, [](const auto& i) { return i.spec.traffic_class == ClassId{1}; }), 0.25,
                   20'000));
}

TEST_CASE("shared prefixes are streams that the requests of a group begin with, by popularity") {
  const auto items = items_of(with(
      poisson("20000"), "shared_prefix",
      map_of({{"weights", list({text("3"), text("1")})}, {"tokens", text("512")}, {"share", text("0.8")}})));
  std::map<std::uint64_t, int> groups;
  std::set<std::uint64_t> texts;
  for (const WorkloadItem& item : items) {
    if (item.spec.content.empty()) continue;
    REQUIRE(item.spec.content.size() == 2);
    CHECK(item.spec.prompt == Tokens{612});
    CHECK(item.spec.content[0].length == Tokens{512});
    CHECK(item.spec.content[1].length == Tokens{100});
    ++groups[item.spec.content[0].stream];
    texts.insert(item.spec.content[1].stream);
    CHECK(item.spec.content[0].stream >> 63 == 0);
  }
  REQUIRE(groups.size() == 2);
  const int prefixed = groups.begin()->second + groups.rbegin()->second;
  CHECK(texts.size() == static_cast<std::size_t>(prefixed));
  CHECK(near_share(prefixed / 20'000.0, 0.8, 20'000));
  CHECK(near_share(groups.begin()->second / static_cast<double>(prefixed), 0.75, prefixed));
}

TEST_CASE("a conversation's turns repeat everything said and share it by content") {
  Entries entries = poisson("3000");
  entries.emplace_back("shared_prefix", map_of({{"tokens", text("64")}}));
  entries.emplace_back(
      "sessions",
      map_of({{"turns", map_of({{"distribution", text("uniform")}, {"low", text("1")}, {"high", text("5")}})},
              {"think_time", map_of({{"mean", text("3s")}})}}));
  const auto source = source_of(map_of(entries));
  struct Seen {
    int turns = 0;
    Time end{};
    std::uint64_t stream = 0;
  };
  std::map<std::uint32_t, Seen> sessions;
  const Duration service = std::chrono::seconds(2);
  serve_all(*source, service, [&](const WorkloadItem& item, std::size_t) {
    Seen& seen = sessions[raw(item.spec.session)];
    REQUIRE(item.spec.content.size() == 2);
    CHECK(item.spec.continues_content);
    CHECK(item.spec.content[1].length == Tokens{100 + seen.turns * 120});
    CHECK(item.spec.prompt == Tokens{64} + item.spec.content[1].length);
    if (seen.turns > 0) {
      CHECK(item.spec.content[1].stream == seen.stream);
      CHECK(item.spec.arrival == seen.end + std::chrono::seconds(3));
    }
    seen = {seen.turns + 1, item.spec.arrival + service, item.spec.content[1].stream};
  });
  std::set<std::uint64_t> streams;
  std::map<int, int> by_turns;
  for (const auto& entry : sessions) {
    streams.insert(entry.second.stream);
    ++by_turns[entry.second.turns];
  }
  CHECK(streams.size() == sessions.size());
  CHECK(by_turns.size() == 5);
}

TEST_CASE("a conversation ends with a request that did not finish") {
  Entries entries = poisson("10");
  entries[1].second = map_of({{"process", text("constant")}, {"rate", text("0.001/s")}});
  entries.emplace_back("sessions", map_of({{"turns", text("5")}}));
  const auto source = source_of(map_of(entries));
  WorkloadItem first;
  source->take(first);
  source->on_end(ended(first, Duration{1}, EndState::kCancelled));
  WorkloadItem second;
  source->take(second);
  CHECK(second.spec.session != first.spec.session);
}

TEST_CASE(
    "a closed loop has at most one request outstanding per user, and all users busy without think time") {
  const auto loop = [](const char* think) {
    return map_of(
        {{"num_requests", text("5000")},
         {"closed_loop", map_of({{"users", text("32")},
                                 {"think_time", map_of({{"mean", text(think)}, {"cv", text("1")}})}})},
         {"lengths", lengths("100", "20")}});
  };
  for (const char* think : {"0s", "4s"}) {
    const auto source = source_of(loop(think));
    CHECK(source->facts().closed_loop);
    std::size_t most = 0;
    std::int64_t count = 0;
    Time last{};
    serve_all(*source, std::chrono::seconds(1), [&](const WorkloadItem& item, std::size_t outstanding) {
      most = std::max(most, outstanding);
      ++count;
      last = item.spec.arrival;
    });
    CHECK(most == 32);
    CHECK(count == 5000);
    // A user's cycle is service plus mean think time; 156 cycles each, so 5 standard errors of the mean are
    // 0.3 s.
    const double cycle = to_seconds(last) / (5000.0 / 32);
    CHECK(std::abs(cycle - (think[0] == '0' ? 1 : 5)) < 0.35);
  }
}

TEST_CASE("a closed loop whose requests are all rejected moves on in time") {
  const auto source = source_of(map_of({{"duration", text("10s")},
                                        {"closed_loop", map_of({{"users", text("1")}})},
                                        {"lengths", lengths("100", "20")}}));
  WorkloadItem item;
  int count = 0;
  while (source->next_arrival() != kTimeNever) {
    source->take(item);
    source->on_end(ended(item, Duration{0}, EndState::kRejected));
    ++count;
  }
  CHECK(count == 10);
}

TEST_CASE("a user's draws do not depend on the speed of others") {
  const ConfigNode drawn =
      map_of({{"distribution", text("uniform")}, {"low", text("1")}, {"high", text("100000")}});
  const auto prompts_with = [&](Duration service) {
    const auto source =
        source_of(map_of({{"num_requests", text("300")},
                          {"closed_loop", map_of({{"users", text("3")}, {"stagger", text("1s")}})},
                          {"lengths", map_of({{"input", drawn}, {"output", text("1")}})}}));
    std::multiset<std::int64_t> prompts;
    serve_all(*source, service,
              [&](const WorkloadItem& item, std::size_t) { prompts.insert(item.spec.prompt.value); });
    return prompts;
  };
  CHECK(prompts_with(std::chrono::seconds(1)) == prompts_with(std::chrono::seconds(7)));
}

TEST_CASE("tenants, adapters and salts are drawn as asked") {
  Entries entries = poisson("20000");
  entries.emplace_back("tenants", map_of({{"count", text("4")}}));
  entries.emplace_back("adapters", map_of({{"count", text("2")}, {"base_share", text("0.5")}}));
  entries.emplace_back("cache_salt", text("tenant"));
  const auto items = items_of(map_of(entries));
  for (const WorkloadItem& item : items) CHECK(item.spec.cache_salt == raw(item.spec.tenant) + 1U);
  CHECK(
      near_share(share_of(items, [](const auto& i) { return i.spec.tenant == TenantId{3}; }), 0.25, 20'000));
  CHECK(near_share(share_of(items, [](const auto& i) { return i.spec.adapter == kNoAdapter; }), 0.5, 20'000));
  CHECK(near_share(share_of(items, [](const auto& i) { return i.spec.adapter == AdapterId{2}; }), 0.25,
                   20'000));
  std::set<std::uint64_t> salts;
  entries.back().second = text("request");
  for (const WorkloadItem& item : items_of(map_of(entries))) salts.insert(item.spec.cache_salt);
  CHECK(salts.size() == 20'000);
}

TEST_CASE("clients cancel, time out and read slowly in the shares asked for") {
  Entries entries = poisson("20000");
  entries.emplace_back("cancellations",
                       map_of({{"share", text("0.1")}, {"after", map_of({{"mean", text("0s")}})}}));
  entries.emplace_back("timeouts",
                       map_of({{"share", text("0.5")}, {"total", text("30s")}, {"first_token", text("2s")}}));
  entries.emplace_back("slow_readers",
                       map_of({{"share", text("0.2")}, {"rate", text("100B/s")}, {"window", text("4KiB")}}));
  const auto items = items_of(map_of(entries));
  for (const WorkloadItem& item : items) {
    const RequestTruth& truth = item.truth;
    CHECK((truth.cancel_after == Duration{-1} || truth.cancel_after == Duration{1}));
    CHECK((truth.deadline == Duration{-1}) == (truth.ttft_timeout == Duration{-1}));
    CHECK(truth.queue_timeout == Duration{-1});
    CHECK((truth.reader_bytes_per_s == 100) == (truth.reader_window == Bytes{4096}));
  }
  CHECK(near_share(share_of(items, [](const auto& i) { return i.truth.cancel_after > Duration{0}; }), 0.1,
                   20'000));
  CHECK(
      near_share(share_of(items, [](const auto& i) { return i.truth.deadline == std::chrono::seconds(30); }),
                 0.5, 20'000));
  CHECK(
      near_share(share_of(items, [](const auto& i) { return i.truth.reader_bytes_per_s > 0; }), 0.2, 20'000));
}

TEST_CASE("workloads that cannot be are refused with the reason") {
  const auto problem = [](const ConfigNode& node) { return error_of([&] { source_of(node); }); };
  Entries endless = poisson();
  endless.erase(endless.begin());
  CHECK(problem(map_of(endless)).find("give num_requests or duration") != std::string::npos);
  Entries without_lengths = poisson();
  without_lengths.pop_back();
  CHECK(problem(map_of(without_lengths)).find("lengths are missing") != std::string::npos);
  CHECK(problem(with(poisson(), "trace", text("x.csv"))).find("arrivals does not go with it") !=
        std::string::npos);
  CHECK(problem(with(poisson(), "closed_loop", map_of({}))).find("give one of arrivals, closed_loop") !=
        std::string::npos);
  CHECK(problem(with(poisson(), "lengths", map_of({{"table", text("azure-2023-conversaton")}})))
            .find("azure-2023-conversation") != std::string::npos);
  CHECK(problem(with(poisson(), "arrivals", map_of({{"process", text("poison")}}))).find("poisson") !=
        std::string::npos);
  const ConfigNode twice = list({map_of({{"name", text("a")}}), map_of({{"name", text("a")}})});
  CHECK(problem(with(poisson(), "classes", twice)).find("two classes are named a") != std::string::npos);
  CHECK(problem(text("trace:missing.csv")).find("missing.csv: there is no such file") != std::string::npos);
}

}  // namespace servetwin::test_sources
