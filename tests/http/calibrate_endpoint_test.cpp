// If these fail, calibrate --endpoint does not find the prices and the cache of a server that has known ones,
// or fails on a server that lacks something.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>

#include "calibrate/endpoint/endpoint_campaign.h"
#include "calibrate/endpoint/endpoint_profile.h"
#include "calibrate/endpoint/load_fit.h"
#include "engine/base/error.h"
#include "tests/http/server_rig.h"
#include "tests/support/catch.h"

namespace servetwin::test::calibrate_endpoint_test {
namespace {

const volatile bool kNever = false;

// Steps of many milliseconds, so that a busy machine's delays are small beside them.
RigOptions known_server() {
  RigOptions options;
  options.limits = "max_num_seqs: 64, max_num_batched_tokens: 512, max_model_len: 1024, num_blocks: 301";
  options.cost =
      "{model: linear, base: 20ms, per_token_ns: 100000, per_context_ns: 5000, per_pair_ns: 200, "
      "per_sequence_ns: 200000}";
  return options;
}

EndpointAddress address_of(const ServerRig& rig) {
  return endpoint_address("http://localhost:" + std::to_string(rig.port()));
}

EndpointOptions patient() {
  EndpointOptions options;
  options.stop = &kNever;
  return options;
}

std::string problem_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

// What a step of decode rows takes by the profile, without the front end.
double step_ns(const StepProfile& profile, std::int64_t rows, std::int64_t context) {
  StepShape shape;
  shape.tokens = shape.sequences = shape.decode_sequences = shape.sampled_rows = rows;
  shape.decode_context = context;
  return profile.step.ns(shape) + profile.step.context_ns * static_cast<double>(context);
}

double truth_ns(std::int64_t rows, std::int64_t context) {
  return 20e6 + 300e3 * static_cast<double>(rows) + 5e3 * static_cast<double>(context);
}

struct Measured {
  StepProfile profile;
  EndpointCampaignResult result;
};

Measured calibrate(EndpointServer& server, const LoadSpace& space, const std::string& file) {
  std::remove(file.c_str());
  LoadRowsFile rows(file, {server.address().text(), server.version(), server.dialect().model}, "2026-11-30");
  EndpointCampaignOptions options;
  options.budget = std::chrono::seconds(60);
  options.space = space;
  options.most_sweeps = 1;
  Measured measured;
  measured.result = measure_endpoint(server, rows, options);
  measured.profile = endpoint_profile({}, {}, rows.rows(), file);
  std::remove(file.c_str());
  return measured;
}

TEST_CASE("a server's prices and its cache are found from outside", "[slow]") {
  const ServerRig rig(known_server());
  EndpointServer server(address_of(rig), patient());
  CHECK(server.dialect().form == PromptForm::kTokenIds);
  CHECK(server.dialect().counts_each_event);
  CHECK(server.max_model_len() == 1024);
  CHECK(server.has_metrics());
  LoadSpace space;
  space.max_model_len = 1024;
  space.max_prompt = 900;
  space.max_concurrency = 16;
  space.max_resident = 3800;
  const Measured measured = calibrate(server, space, "endpoint_test.csv");
  const StepProfile& profile = measured.profile;
  for (const std::int64_t rows : {1, 2, 4, 8, 16}) {
    for (const std::int64_t context : {20, 100, 200}) {
      CAPTURE(rows, context);
      CHECK(step_ns(profile, rows, rows * context) == Approx(truth_ns(rows, rows * context)).epsilon(0.25));
    }
  }
  // A prompt of 256 tokens beside one that decodes.
  StepShape shape;
  shape.tokens = 257;
  shape.sequences = shape.sampled_rows = 2;
  shape.decode_sequences = shape.prefill_sequences = 1;
  shape.prefill_tokens = 256;
  shape.prefill_q_squared = 256 * 256;
  const double mixed = 20e6 + 257 * 100e3 + 200.0 * 256 * 257 / 2 + 2 * 200e3;
  CHECK(profile.step.ns(shape) == Approx(mixed).epsilon(0.25));
  CHECK(profile.endpoint->front_end_ns < 15e6);
  REQUIRE(profile.endpoint->kv_tokens);
  CHECK(*profile.endpoint->kv_tokens == Approx(300 * 16).epsilon(0.1));
  CHECK(*profile.endpoint->kv_tokens_low <= 300 * 16 * 1.02);
  REQUIRE(profile.endpoint->kv_tokens_high);
  CHECK(*profile.endpoint->kv_tokens_high >= 300 * 16 * 0.98);
  CHECK(profile.error.decode.median < 0.25);
}

TEST_CASE("who has to wait shows the cache of a server that tells no usage") {
  const ServerRig rig(known_server());
  EndpointServer server(address_of(rig), patient());
  LoadRunner runner(server);
  // Sixteen times 432 + 60 tokens do not fit into 4800.
  const PointResult result = runner.run({LoadPhase::kCapacity, 16, 432, 60, 0});
  REQUIRE_FALSE(result.rows.empty());
  CHECK(runner.most_waiting() > 0);
  CHECK(runner.most_waiting() < 16);
  LoadRow more;  // that more requests can run than did
  more.phase = LoadPhase::kDecode;
  more.requests = 32;
  const auto capacity = kv_capacity({result.rows.back(), more});
  REQUIRE(capacity);
  REQUIRE(capacity->high);
  CHECK(capacity->low <= 4800);
  CHECK(capacity->low > 4800 * 0.8);
  CHECK(*capacity->high >= 4800);
  CHECK(*capacity->high < 4800 * 1.3);
}

TEST_CASE("two engines behind one address are refused") {
  RigOptions options;
  options.cost += "\n  replicas: 2";
  const ServerRig rig(options);
  CHECK(problem_of([&] { EndpointServer(address_of(rig), patient()); }).find("2 engines answer there") !=
        std::string::npos);
}

TEST_CASE("no server, no key and no such model are told with what to do") {
  RigOptions options;
  options.api.api_key = "secret";
  const ServerRig rig(options);
  CHECK(problem_of([&] { EndpointServer(address_of(rig), patient()); }).find("--api-key-env") !=
        std::string::npos);
  EndpointOptions with_key = patient();
  with_key.api_key = "secret";
  CHECK(EndpointServer(address_of(rig), with_key).dialect().model == "M");
  with_key.model = "other";
  CHECK(problem_of([&] { EndpointServer(address_of(rig), with_key); }).find("no model other, but M") !=
        std::string::npos);
  CHECK(problem_of([] {
          EndpointServer(endpoint_address("http://127.0.0.1:1"), patient());
        }).find("does not take connections") != std::string::npos);
}

TEST_CASE("a server that refuses more than it can queue says so, and the load has no rows") {
  RigOptions options;
  options.api.max_answers = 2;
  const ServerRig rig(options);
  EndpointServer server(address_of(rig), patient());
  LoadRunner runner(server);
  const PointResult result = runner.run({LoadPhase::kDecode, 6, 16, 24, 0});
  CHECK(result.rows.empty());
  CHECK(result.retry_after == 1);
  CHECK(result.problem.find("status 429") != std::string::npos);
  CHECK(runner.run({LoadPhase::kDecode, 2, 16, 24, 0}).problem.empty());
}

TEST_CASE("a budget that is too short is kept to, and the rows stay for the next time") {
  const ServerRig rig(known_server());
  EndpointServer server(address_of(rig), patient());
  const std::string file = "endpoint_budget_test.csv";
  std::remove(file.c_str());
  const LoadSubject subject{server.address().text(), server.version(), server.dialect().model};
  EndpointCampaignOptions options;
  options.budget = std::chrono::milliseconds(2500);
  options.space.max_model_len = 1024;
  std::vector<LoadRow> before;
  {
    LoadRowsFile rows(file, subject, "2026-11-30");
    const auto start = std::chrono::steady_clock::now();
    measure_endpoint(server, rows, options);
    CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(10));
    before = rows.rows();
    CHECK_FALSE(before.empty());
    CHECK(problem_of([&] { fit_load(rows.rows(), file); }).find("CAL001") != std::string::npos);
  }
  LoadRowsFile rows(file, subject, "2026-11-30");
  CHECK(rows.rows() == before);
  measure_endpoint(server, rows, options);
  REQUIRE(rows.rows().size() > before.size());
  CHECK(std::equal(before.begin(), before.end(), rows.rows().begin()));
  CHECK(rows.rows()[before.size()].point != before.front().point);
  std::remove(file.c_str());
}

TEST_CASE("a load ends when it is asked to, and a server that never answers ends by its time limit") {
  const ServerRig rig(known_server());
  volatile bool stop = true;
  const LoadClient stopped(address_of(rig), "", &stop);
  CHECK(stopped.get("/health").end == CallEnd::kStopped);
  const LoadClient client(address_of(rig), "", &kNever);
  const std::string body = R"({"model": "M", "prompt": "Hi", "max_tokens": 500, "ignore_eos": true})";
  const HttpAnswer answer = client.post("/v1/completions", body, std::chrono::milliseconds(200));
  CHECK(answer.end == CallEnd::kTimedOut);
  CHECK(answer.problem() == "did not answer in time");
}

}  // namespace
}  // namespace servetwin::test::calibrate_endpoint_test
