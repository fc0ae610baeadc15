// Both simulators on the same requests and the same operation times: how much faster the decision core is.
#include "tests/bench/vidur_bench.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "costmodels/cost_model.h"
#include "engine/base/data_files.h"
#include "engine/base/digest.h"
#include "engine/metrics/recorder.h"
#include "engine/models/catalogue.h"
#include "engine/serving/preset.h"
#include "sim/backend/sim_backend.h"
#include "tests/support/vidur_run.h"

namespace servetwin {
namespace {

// What the recorded runs took elsewhere, on one core of such a machine: the low and the high end.
constexpr double kVidurRequests[] = {1200, 1700};
constexpr double kVidurSteps[] = {7000, 9000};

// The same requests again and again, each round one mean gap after the last arrival of the one before.
class Rounds final : public RequestSource {
 public:
  Rounds(std::vector<WorkloadItem> items, std::int64_t total) : items_(std::move(items)), total_(total) {
    const Duration span = items_.back().spec.arrival - items_.front().spec.arrival;
    round_ = span + span / static_cast<std::int64_t>(items_.size() - 1);
  }

  Time next_arrival() override {
    if (given_ == total_) return kTimeNever;
    const auto size = static_cast<std::int64_t>(items_.size());
    return items_[static_cast<std::size_t>(given_ % size)].spec.arrival + round_ * (given_ / size);
  }
  void take(WorkloadItem& item) override {
    const Time arrival = next_arrival();
    item = items_[static_cast<std::size_t>(given_ % static_cast<std::int64_t>(items_.size()))];
    item.spec.arrival = arrival;
    item.spec.id = RequestId{static_cast<std::uint32_t>(given_++)};
  }
  bool reacts_to_ends() const override { return false; }
  std::string describe() const override { return "a recorded run, repeated"; }
  SourceFacts facts() const override { return {}; }

 private:
  std::vector<WorkloadItem> items_;
  std::int64_t total_;
  std::int64_t given_ = 0;
  Duration round_{};
};

std::unique_ptr<CostModel> cost_of(const std::string& ops) {
  const ModelSpec model = find_model("meta-llama/Llama-3.1-8B", data_folders());
  CostContext context;
  context.model = &model;
  ConfigNode params;
  params.kind = ConfigNode::Kind::kMap;
  for (const auto& [key, text] :
       {std::pair<std::string, std::string>{"ops", ops}, {"attention", "surrogate"}}) {
    ConfigNode value;
    value.kind = ConfigNode::Kind::kScalar;
    value.text = text;
    params.entries.emplace_back(key, value);
  }
  return Registry<CostModel>::instance().make("vidur_tables", params, context);
}

}  // namespace

int vidur_bench(int count, char** words) {
  if (count < 2) {
    std::fprintf(stderr, "bench vidur RUN_FOLDER OPS_FOLDER [REQUESTS]\n");
    return 2;
  }
  const std::int64_t requests = count > 2 ? std::atol(words[2]) : 100'000;
  const auto cost = cost_of(words[1]);
  Rounds source(test::vidur_requests(words[0]), requests);
  Recorder recorder({});
  Cluster cluster({{test::vidur_sarathi(30'208)}, 0}, [] { return make_rules(RuleNames{}); },
                  Registry<Router>::instance().make("round_robin", ConfigNode{}), {&recorder});
  SimBackend backend(source, {cost.get()}, {});
  backend.attach(cluster);
  const auto start = std::chrono::steady_clock::now();
  serve(cluster, backend);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  const double request_rate = static_cast<double>(requests) / took.count();
  const double step_rate = static_cast<double>(backend.num_steps()) / took.count();
  std::printf("requests %lld steps %llu seconds %.3f, timeline %s\n", static_cast<long long>(requests),
              static_cast<unsigned long long>(backend.num_steps()), took.count(),
              to_hex(cluster.timeline_digest()).c_str());
  std::printf("%.0f requests/s, %.0f to %.0f times Vidur's %.0f to %.0f (stated, measured elsewhere)\n",
              request_rate, request_rate / kVidurRequests[1], request_rate / kVidurRequests[0],
              kVidurRequests[0], kVidurRequests[1]);
  std::printf("%.0f steps/s, %.0f to %.0f times Vidur's %.0f to %.0f (stated, measured elsewhere)\n",
              step_rate, step_rate / kVidurSteps[1], step_rate / kVidurSteps[0], kVidurSteps[0],
              kVidurSteps[1]);
  return 0;
}

}  // namespace servetwin
