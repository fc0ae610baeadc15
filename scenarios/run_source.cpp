// Marks what is measured, and notices traffic that no run can come to the end of.
#include "scenarios/run_source.h"

#include <string>

#include "engine/base/text.h"

namespace servetwin {

void RunSource::take(WorkloadItem& item) {
  if (at_once_ > kMaxAtOnce) {
    refuse("WKL005",
           format_grouped(kMaxAtOnce) +
               " answers in a row took no time and were followed by the next request "
               "at once, so that time stands still",
           "give think_time, or a cost model whose steps take time");
  }
  inner_->take(item);
  RequestSpec& spec = item.spec;
  if (++in_system_ > kMaxInSystem) {
    refuse("WKL004",
           "after " + format_number(to_seconds(spec.arrival)) + " s more than " +
               format_grouped(kMaxInSystem) + " requests are in the system: it is overloaded without bound",
           "lower the rate, or bound the queue with engine.max_queued");
  }
  spec.stat_group = stat_group_for(spec.traffic_class, spec.arrival >= from_ && spec.arrival < to_);
  spec.waits_for = spec.waits_for | waits_for_;
  if (tells_outputs_) spec.told_outputs = static_cast<std::int32_t>(item.truth.output.value);
  if (listener_) listener_(spec);
}

// What it finds is refused by take(): here the core is in the middle of an event, which must be whole in the
// journal.
void RunSource::on_end(const RequestRecord& record) {
  --in_system_;
  inner_->on_end(record);
  if (at_once_ > kMaxAtOnce || !inner_->reacts_to_ends()) return;
  if (record.arrival != record.end || inner_->next_arrival() != record.end) return;
  at_once_ = record.end == at_once_since_ ? at_once_ + 1 : 1;
  at_once_since_ = record.end;
}

void RunSource::refuse(const char* code, std::string message, std::string remedy) const {
  throw ConfigError(Problem{code, workload_, "spec.workload", std::move(message), std::move(remedy)});
}

}  // namespace servetwin
