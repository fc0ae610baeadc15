// The first sweep is the most that a short budget allows; later ones make it sure.
#include "calibrate/endpoint/endpoint_campaign.h"

#include <algorithm>
#include <map>
#include <thread>

namespace servetwin {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr int kFailuresInARow = 4;
constexpr std::int64_t kCapacityPoint = 1'000'000;  // numbers of its loads begin here
constexpr std::int64_t kCapacityOutput = 64;

class EndpointCampaign {
 public:
  EndpointCampaign(EndpointServer& server, LoadRowsFile& rows, const EndpointCampaignOptions& options)
      : server_(server), rows_(rows), options_(options), runner_(server), start_(SteadyClock::now()) {}

  EndpointCampaignResult run() {
    runner_.warm_up();
    const std::vector<LoadPoint> points = load_sweep(options_.space);
    bool in_time = true;
    for (; in_time && result_.sweeps < options_.most_sweeps; ++result_.sweeps) {
      in_time = sweep(points, result_.sweeps);
      if (result_.sweeps == 0 && in_time) in_time = probe_capacity();
    }
    result_.spent = spent();
    add_warnings();
    return std::move(result_);
  }

 private:
  Duration spent() const { return SteadyClock::now() - start_; }
  bool is_over() const { return server_.stopped() || spent() >= options_.budget; }

  // False when the time is up.
  bool sweep(const std::vector<LoadPoint>& points, std::int64_t number) {
    for (std::size_t i = 0; i < points.size(); ++i) {
      const auto point = static_cast<std::int64_t>(i);
      if (points[i].requests > most_requests_ || rows_.has(number, point) || skipped_.count(point) > 0)
        continue;
      if (is_over() || spent() + took_[point] > options_.budget) return false;
      const Duration before = spent();
      measure(points[i], number, point);
      took_[point] = spent() - before;
    }
    return !is_over();
  }

  // Tries again when the server asks for it; true when rows came.
  bool measure(const LoadPoint& point, std::int64_t number, std::int64_t place) {
    constexpr int kTries = 3;
    PointResult result;
    for (int i = 0; i < kTries && !is_over(); ++i) {
      report(point);
      result = runner_.run(point);
      if (result.retry_after == 0 || !result.rows.empty()) break;
      wait(std::chrono::seconds(result.retry_after));
    }
    if (server_.stopped()) return false;
    for (LoadRow row : result.rows) {
      row.sweep = number;
      row.point = place;
      rows_.append(row);
    }
    if (!result.rows.empty()) {
      failures_ = 0;
      return true;
    }
    note_failure(point, place, result);
    return false;
  }

  void note_failure(const LoadPoint& point, std::int64_t place, const PointResult& result) {
    skipped_[place] = result.problem;
    last_problem_ = result.problem;
    if (result.retry_after > 0 && point.requests > 1) {
      most_requests_ = std::min(most_requests_, point.requests - 1);
      return;  // a limit of the server, and no fault
    }
    if (!result.failed || ++failures_ < kFailuresInARow) return;
    refuse_endpoint(server_.address(),
                    std::to_string(kFailuresInARow) + " loads in a row failed; the last: " + result.problem,
                    "see the server's log; the rows measured so far are kept, and the same command goes on");
  }

  // With requests whose contexts fill the cache while they decode. False when the time is up.
  bool probe_capacity() {
    const bool was_found = std::any_of(rows_.rows().begin(), rows_.rows().end(), [](const LoadRow& row) {
      return row.phase == LoadPhase::kCapacity && row.usage == 0 && row.high_tokens > 0;
    });
    if (was_found) return !is_over();
    const std::int64_t longest = options_.space.max_model_len - kCapacityOutput;
    std::int64_t place = kCapacityPoint;
    std::int64_t prompt = std::clamp<std::int64_t>(options_.space.max_model_len / 4, 1, 4096);
    std::int64_t requests = 8;
    const Duration until = spent() + (options_.budget - spent()) / 2;
    for (; requests <= std::min(options_.space.max_concurrency, most_requests_); ++place) {
      const std::optional<KvCapacity> known = kv_capacity(rows_.rows());
      const double aim = known ? 1.25 * known->high.value_or(2 * known->low) : 0;
      if (known && aim / static_cast<double>(requests) > static_cast<double>(prompt)) {
        const auto needed = static_cast<std::int64_t>(aim / static_cast<double>(requests));
        if (needed > longest || prompt == longest) {
          requests *= 2;
          continue;
        }
        prompt = std::min(needed, longest);
      }
      if (spent() >= until) return !is_over();
      if (rows_.has(0, place)) continue;
      const LoadPoint point{LoadPhase::kCapacity, requests, prompt, kCapacityOutput, 0};
      if (!measure(point, 0, place)) return !is_over();
      if (rows_.rows().back().high_tokens > 0) return !is_over();
      requests *= 2;
    }
    return !is_over();
  }

  void wait(Duration time) const {
    const Duration until = std::min(spent() + time, options_.budget);
    while (spent() < until && !server_.stopped()) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }

  void report(const LoadPoint& point) const {
    if (!options_.progress) return;
    std::string doing = std::string(to_string(point.phase)) + ": " + std::to_string(point.requests) + " x (" +
                        std::to_string(point.prompt) + " + " + std::to_string(point.output) + ')';
    if (point.joins > 0) doing += " and " + std::to_string(point.joins);
    options_.progress({rows_.rows().size(), spent(), doing});
  }

  void add_warnings() {
    auto& all = result_.warnings;
    if (runner_.cached_tokens() > 0) {
      all.push_back(std::to_string(runner_.cached_tokens()) +
                    " prompt tokens were found in the prefix cache, and are not counted as computed");
    }
    if (runner_.merged_tokens())
      all.emplace_back("events held several tokens: times between tokens are means over events");
    if (!server_.dialect().ignores_eos)
      all.emplace_back("the server does not take ignore_eos: answers may have ended early");
    if (!skipped_.empty()) {
      all.push_back(std::to_string(skipped_.size()) + " loads gave no rows; the last because it " +
                    last_problem_);
    }
  }

  EndpointServer& server_;
  LoadRowsFile& rows_;
  const EndpointCampaignOptions& options_;
  LoadRunner runner_;
  SteadyClock::time_point start_;
  EndpointCampaignResult result_;
  std::map<std::int64_t, Duration> took_;
  std::map<std::int64_t, std::string> skipped_;  // points that gave no rows, and why
  std::string last_problem_;
  std::int64_t most_requests_ = 1'000'000;
  int failures_ = 0;
};

}  // namespace

EndpointCampaignResult measure_endpoint(EndpointServer& server,
                                        LoadRowsFile& rows,
                                        const EndpointCampaignOptions& options) {
  return EndpointCampaign(server, rows, options).run();
}

}  // namespace servetwin
