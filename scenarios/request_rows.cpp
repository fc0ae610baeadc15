// The same spans as in requests.csv, kept as numbers.
#include "scenarios/request_rows.h"

#include <algorithm>
#include <utility>

#include "engine/metrics/slo.h"

namespace servetwin {
namespace {

std::optional<Duration>& at(RequestRow& row, Latency latency) {
  return row.latencies[static_cast<std::size_t>(latency)];
}

}  // namespace

void RowCollector::on_arrived(const RequestSpec& request, Time /*now*/) {
  const std::size_t index = raw(request.id);
  if (rows_.size() <= index) rows_.resize(index + 1);
  RequestRow& row = rows_[index];
  row.id = request.id;
  row.session = request.session;
  row.turn = turns_[request.session]++;
  row.traffic_class = request.traffic_class;
  row.tenant = request.tenant;
  row.measured = is_measured(request.stat_group);
  row.prompt = request.prompt;
  row.max_tokens = request.max_tokens;
  row.arrival = request.arrival;
}

void RowCollector::on_end(const RequestRecord& record) {
  RequestRow& row = rows_[raw(record.id)];
  row.end_state = record.end_state;
  row.outputs = record.outputs;
  row.sojourn = record.end - record.arrival;
  const Time ready = record.ready == kTimeNever ? record.arrival : record.ready;
  at(row, Latency::kFrontEnd) = ready - record.arrival + output_delay_;
  at(row, Latency::kHeadOfLine) = record.head_of_line;
  at(row, Latency::kPreempted) = record.preempted;
  if (record.first_scheduled != kTimeNever) at(row, Latency::kQueue) = record.first_scheduled - ready;
  if (record.first_token != kTimeNever) {
    at(row, Latency::kTtft) = record.first_token - record.arrival + output_delay_;
    at(row, Latency::kE2e) = record.last_token - record.arrival + output_delay_;
  }
  at(row, Latency::kTpot) = tpot_of(record.first_token, record.last_token, record.outputs);
  complete_latencies(row);
}

std::vector<RequestRow> RowCollector::take() {
  std::erase_if(rows_, [](const RequestRow& row) { return row.id == kNoRequest; });
  std::sort(rows_.begin(), rows_.end(),
            [](const RequestRow& a, const RequestRow& b) { return a.key() < b.key(); });
  return std::move(rows_);
}

void complete_latencies(RequestRow& row) {
  const auto& whole = row.latency(Latency::kE2e);
  const auto& front_end = row.latency(Latency::kFrontEnd);
  const auto& queue = row.latency(Latency::kQueue);
  const auto& preempted = row.latency(Latency::kPreempted);
  if (whole && front_end && queue && preempted) {
    at(row, Latency::kInBatch) = *whole - *front_end - *queue - *preempted;
  }
}

}  // namespace servetwin
