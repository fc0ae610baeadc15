// If this fails, blocks, requests or connections leak when thousands of clients come, leave and dawdle, or an
// answer is lost or given twice.
#include <atomic>
#include <fstream>
#include <nlohmann/json.hpp>

#include "engine/base/rng.h"
#include "tests/http/server_rig.h"
#include "tests/support/catch.h"

namespace servetwin::test::soak_test {
namespace {

using Json = nlohmann::json;

struct Tally {
  std::atomic<int> answered{0};
  std::atomic<int> left{0};
  std::atomic<int> turned_away{0};
  std::atomic<int> wrong{0};
};

// The tokens of an answer that came whole, or -1.
std::int64_t tokens_of(const Reply& reply, bool streamed) {
  if (!streamed) return Json::parse(reply.body)["usage"]["completion_tokens"].get<std::int64_t>();
  const std::vector<std::string> all = events(reply.body);
  if (all.size() < 2 || all.back() != "[DONE]") return -1;
  return Json::parse(all[all.size() - 2])["usage"]["completion_tokens"].get<std::int64_t>();
}

class Client {
 public:
  Client(const ServerRig& rig, Tally& tally, std::uint64_t number)
      : rig_(rig), tally_(tally), number_(number) {}

  void run(int requests) {
    for (int i = 0; i < requests; ++i) one();
  }

 private:
  double draw() { return draw_unit({7, Stream::kTest, number_}, draws_++); }

  void one() {
    const double fate = draw();
    const bool streamed = draw() < 0.5;
    const auto tokens = static_cast<std::int64_t>(1 + draw() * 60);
    const int n = draw() < 0.1 ? 3 : 1;
    const std::string more =
        R"("n": )" + std::to_string(n) +
        (streamed ? R"(, "stream": true, "stream_options": {"include_usage": true})" : "");
    HttpClient client(rig_.port(), fate > 0.9 ? 2048 : 0);
    client.send(post("/v1/chat/completions", chat_call(tokens, more)));
    if (fate < 0.3) {
      if (fate > 0.1) client.some(static_cast<std::size_t>(1000 * draw()), std::chrono::milliseconds(5));
      ++tally_.left;
      return;
    }
    if (fate > 0.9) std::this_thread::sleep_for(std::chrono::milliseconds(static_cast<int>(30 * draw())));
    const Reply reply = client.reply(std::chrono::seconds(60));
    if (reply.status == 429) {
      ++tally_.turned_away;
    } else if (reply.status == 200 && tokens_of(reply, streamed) == n * tokens) {
      ++tally_.answered;
    } else {
      ++tally_.wrong;
    }
  }

  const ServerRig& rig_;
  Tally& tally_;
  std::uint64_t number_;
  std::uint32_t draws_ = 0;
};

// Bytes of memory that the process has in use.
std::int64_t memory() {
  std::ifstream file("/proc/self/statm");
  std::int64_t size = 0;
  std::int64_t resident = 0;
  file >> size >> resident;
  return resident * 4096;
}

void run_clients(const ServerRig& rig, Tally& tally, int clients, int requests) {
  std::vector<std::thread> threads;
  for (int i = 0; i < clients; ++i) {
    threads.emplace_back([&, i] { Client(rig, tally, static_cast<std::uint64_t>(i)).run(requests); });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_CASE("after ten thousand requests that come and go nothing is left and nothing was lost", "[slow]") {
  constexpr int kClients = 32;
  constexpr int kRequests = 160;
  const ServerRig rig({", max_queued: 40", 20, {}, {}});
  Tally tally;
  run_clients(rig, tally, kClients, kRequests);
  const std::int64_t before = memory();
  run_clients(rig, tally, kClients, kRequests);
  CHECK(memory() - before < 16 * 1024 * 1024);
  CHECK(tally.wrong == 0);
  CHECK(tally.answered + tally.left + tally.turned_away == 2 * kClients * kRequests);
  CHECK(tally.answered > 5000);
  CHECK(ServerRig::soon([&] { return rig.idle(); }));
  CHECK(ServerRig::soon([&] { return rig.num_open() == 0; }));
  const Reply again = rig.chat(chat_call(10));
  CHECK(again.status == 200);
}

}  // namespace
}  // namespace servetwin::test::soak_test
