// The first sweep is the most that a short budget allows; later ones make it sure.
#include "calibrate/endpoint/endpoint_campaign.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <thread>

namespace servetwin {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr int kFailuresInARow = 4;
constexpr std::int64_t kCapacityOutput = 64;
constexpr double kProbeRequests = 24;  // so many hold the cache, where prompts may be as long as that takes

std::string whole_text(double value) { return std::to_string(std::llround(value)); }

class EndpointCampaign {
 public:
  EndpointCampaign(EndpointServer& server, LoadRowsFile& rows, const EndpointCampaignOptions& options)
      : server_(server), rows_(rows), options_(options), runner_(server), start_(SteadyClock::now()) {}

  EndpointCampaignResult run() {
    server_.limit(options_.budget);
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
    for (const LoadPoint& point : points) {
      const std::int64_t name = number_of(point);
      if (point.requests > most_requests_ || rows_.has(number, name) || skipped_.count(name) > 0) continue;
      if (is_over() || spent() + took_[name] > options_.budget) return false;
      const Duration before = spent();
      measure(point, number);
      took_[name] = spent() - before;
    }
    return !is_over();
  }

  // Tries again when the server asks for it; true when rows came.
  bool measure(const LoadPoint& point, std::int64_t number) {
    constexpr int kTries = 3;
    PointResult result;
    for (int i = 0; i < kTries && !is_over(); ++i) {
      report(point);
      server_.limit(options_.budget - spent());
      result = runner_.run(point);
      if (result.retry_after == 0 || !result.rows.empty()) break;
      wait(std::chrono::seconds(result.retry_after));
    }
    if (server_.stopped() || (is_over() && result.failed)) return false;  // it was cut short
    for (LoadRow row : result.rows) {
      row.sweep = number;
      row.point = number_of(point);
      rows_.append(row);
    }
    if (!result.rows.empty()) {
      failures_ = 0;
      return true;
    }
    note_failure(point, result);
    return false;
  }

  void note_failure(const LoadPoint& point, const PointResult& result) {
    skipped_[number_of(point)] = result.problem;
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
    std::optional<LoadPoint> probe = first_probe();
    const Duration until = spent() + (options_.budget - spent()) / 2;
    while (probe && spent() < until) {
      if (!rows_.has(0, number_of(*probe)) && !measure(*probe, 0)) break;
      const LoadRow& last = rows_.rows().back();
      if (last.usage == 0 && last.high_tokens > 0) break;
      probe = larger_probe(*probe);
    }
    return !is_over();
  }

  std::int64_t most_requests() const { return std::min(options_.space.max_concurrency, most_requests_); }
  std::int64_t longest_prompt() const { return options_.space.max_model_len - kCapacityOutput; }

  // A quarter more than the cache holds as far as is known; none where that cannot be asked for.
  std::optional<LoadPoint> first_probe() const {
    const std::optional<KvCapacity> known = kv_capacity(rows_.rows());
    if (!known || !known->high) {
      const std::int64_t prompt = std::clamp<std::int64_t>(options_.space.max_model_len / 4, 1, 4096);
      return probe_of(std::min<std::int64_t>(most_requests(), 8), prompt);
    }
    const double aim = 1.25 * *known->high;
    const auto requests = static_cast<std::int64_t>(
        std::max(std::ceil(aim / static_cast<double>(longest_prompt())), kProbeRequests));
    if (requests > most_requests()) {
      const bool fits = static_cast<double>(most_requests() * longest_prompt()) > aim;
      if (!fits) return std::nullopt;
    }
    const std::int64_t used = std::min(requests, most_requests());
    return probe_of(used, static_cast<std::int64_t>(aim / static_cast<double>(used)));
  }

  // Twice as many, or, where no more may be asked at once, twice as long.
  std::optional<LoadPoint> larger_probe(const LoadPoint& probe) const {
    if (2 * probe.requests <= most_requests()) return probe_of(2 * probe.requests, probe.prompt);
    if (probe.prompt >= longest_prompt()) return std::nullopt;
    return probe_of(most_requests(), 2 * probe.prompt);
  }

  LoadPoint probe_of(std::int64_t requests, std::int64_t prompt) const {
    prompt = std::clamp<std::int64_t>(prompt, 1, std::max<std::int64_t>(longest_prompt(), 1));
    return {LoadPhase::kCapacity, std::max<std::int64_t>(requests, 1), prompt, kCapacityOutput, 0};
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
    if (runner_.most_waiting() > 0 || runner_.preemptions() > 0) {
      all.push_back("by the server's metrics up to " + whole_text(runner_.most_waiting()) +
                    " requests waited, and " + whole_text(runner_.preemptions()) + " were preempted");
    }
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
