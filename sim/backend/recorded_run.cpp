// Request rows wait for their Arrived; what happens to a request later is written into its item.
#include "sim/backend/recorded_run.h"

#include <limits>
#include <map>

#include "engine/journal/journal_reader.h"

namespace servetwin {
namespace {

class Collector {
 public:
  explicit Collector(const std::vector<RequestRecord>& stops) {
    for (const RequestRecord& record : stops) outputs_[record.id] = record.outputs;
  }

  void row(const RequestSpec& request) { rows_[request.id] = request; }

  void event(const StampedEvent& stamped) {
    if (const auto* arrived = std::get_if<Arrived>(&stamped.event)) arrive(arrived->request, stamped.time);
    if (const auto* cancelled = std::get_if<Cancelled>(&stamped.event)) cancel(*cancelled, stamped.time);
  }

  std::vector<RecordedItem> items;

 private:
  void arrive(RequestId request, Time delivered) {
    RecordedItem one;
    one.delivered = delivered;
    one.item.spec = std::move(rows_.extract(request).mapped());
    const auto output = outputs_.find(request);
    one.item.truth.output =
        output == outputs_.end() ? Tokens{std::numeric_limits<std::int64_t>::max()} : output->second;
    index_[request] = items.size();
    items.push_back(std::move(one));
  }

  void cancel(const Cancelled& event, Time time) {
    const auto found = index_.find(event.request);
    if (found == index_.end()) return;
    WorkloadItem& item = items[found->second].item;
    const Duration after = time - item.spec.arrival;
    if (event.why == EndReason::kClient) item.truth.cancel_after = after;
    if (event.why == EndReason::kDeadline) item.truth.deadline = after;
    if (event.why == EndReason::kQueueTimeout) item.truth.queue_timeout = after;
    if (event.why == EndReason::kTtftTimeout) item.truth.ttft_timeout = after;
  }

  std::map<RequestId, Tokens> outputs_;
  std::map<RequestId, RequestSpec> rows_;
  std::map<RequestId, std::size_t> index_;
};

}  // namespace

RecordedRun read_recorded_run(const std::string& journal, const std::vector<RequestRecord>& stops) {
  RecordedRun run;
  Collector collector(stops);
  JournalReader events(journal);
  JournalEntry entry;
  while (events.next(entry)) {
    if (const auto* request = std::get_if<RequestSpec>(&entry)) {
      collector.row(*request);
    } else {
      collector.event(std::get<JournalEvent>(entry).stamped);
    }
  }
  run.items = std::move(collector.items);
  JournalReader durations(journal);
  run.durations = replayed_durations(durations);
  return run;
}

}  // namespace servetwin
