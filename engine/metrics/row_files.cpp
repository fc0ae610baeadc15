// Rows are put together with to_chars in the file's buffer: a million take well under a second.
#include "engine/metrics/row_files.h"

#include <utility>

#include "engine/base/check.h"
#include "engine/base/text.h"
#include "engine/metrics/slo.h"

namespace servetwin {
namespace {

constexpr std::string_view kRequestColumns =
    "id,replica,class,measured,tenant,adapter,end_state,end_reason,prompt_tokens,max_tokens,output_tokens,"
    "cached_tokens,recomputed_tokens,preemptions,arrival_ns,ready_ns,first_scheduled_ns,first_token_ns,last_"
    "token_ns,"
    "end_ns,ttft_ns,tpot_ns,e2e_ns,queue_ns,preempted_ns,head_of_line_ns,waste_at_end_tokens,held_at_end_"
    "tokens\n";

constexpr std::string_view kStepColumns =
    "replica,step,planned_ns,end_ns,tokens,sequences,decode_sequences,decode_context_tokens,max_context_"
    "tokens,"
    "prefill_sequences,prefill_tokens,sampled_rows,new_sequences,graph_size,padding_tokens,running,waiting,"
    "used_blocks,free_"
    "blocks";

// Appends fields and the commas between them.
class Row {
 public:
  explicit Row(OutputFile& file) : file_(file) {}

  Row& integer(std::int64_t value) {
    separate();
    file_.append_integer(value);
    return *this;
  }
  Row& text(std::string_view value) {
    separate();
    file_.append(value);
    return *this;
  }
  Row& time(Time value) { return value == kTimeNever ? text("") : integer(to_ns(value)); }
  Row& between(Time from, Time to, Duration more = Duration{0}) {
    return from == kTimeNever || to == kTimeNever ? text("") : integer(to_ns(to - from + more));
  }
  void end() { file_.append('\n'); }

 private:
  void separate() {
    if (!first_) file_.append(',');
    first_ = false;
  }

  OutputFile& file_;
  bool first_ = true;
};

}  // namespace

RequestsCsv::RequestsCsv(std::string path, std::vector<std::string> class_names, Duration output_delay)
    : file_(std::move(path)), class_names_(std::move(class_names)), output_delay_(output_delay) {
  for (std::string& name : class_names_) name = csv_field(name);
  file_.append(kRequestColumns);
}

void RequestsCsv::on_end(const RequestRecord& r) {
  const auto tpot = tpot_of(r.first_token, r.last_token, r.outputs);
  const Time ready = r.ready == kTimeNever ? r.arrival : r.ready;
  Row row(file_);
  row.integer(raw(r.id));
  r.replica == kNoReplica ? row.text("") : row.integer(raw(r.replica));
  row.text(class_names_[raw(r.traffic_class)]).integer(is_measured(r.stat_group) ? 1 : 0);
  row.integer(raw(r.tenant))
      .integer(raw(r.adapter))
      .text(to_string(r.end_state))
      .text(to_string(r.end_reason));
  row.integer(r.prompt.value).integer(r.max_tokens.value).integer(r.outputs.value);
  row.integer(r.cached.value).integer(r.recomputed.value).integer(r.preemptions);
  row.time(r.arrival).time(r.ready).time(r.first_scheduled);
  row.time(r.first_token).time(r.last_token).time(r.end);
  row.between(r.arrival, r.first_token, output_delay_);
  tpot ? row.integer(to_ns(*tpot)) : row.text("");
  row.between(r.arrival, r.last_token, output_delay_).between(ready, r.first_scheduled);
  row.integer(to_ns(r.preempted)).integer(to_ns(r.head_of_line));
  row.integer(r.waste_at_end.value).integer(r.held_at_end.value).end();
}

StepsCsv::StepsCsv(std::string path, std::size_t num_replicas)
    : file_(std::move(path)), in_flight_(num_replicas) {
  file_.append(kStepColumns);
  for (int reason = 0; reason < kNumHeldReasons; ++reason) {
    file_.append(",held_");
    file_.append(to_string(static_cast<HeldReason>(reason)));
  }
  file_.append('\n');
}

// A plan without tokens is no step.
void StepsCsv::on_plan(const StepPlan& plan) {
  if (plan.shape.tokens == 0) return;
  in_flight_[raw(plan.replica)].push_back(
      {plan.step, plan.running, plan.waiting, plan.used_blocks, plan.free_blocks, plan.held});
}

void StepsCsv::on_step_done(ReplicaId replica, StepId step, const StepShape& s, Time planned, Time end) {
  std::deque<Planned>& waiting = in_flight_[raw(replica)];
  CHECK_INVARIANT(!waiting.empty(), raw(replica), raw(step));
  const Planned p = waiting.front();
  waiting.pop_front();
  CHECK_INVARIANT(p.step == step, raw(p.step), raw(step));
  Row row(file_);
  row.integer(raw(replica)).integer(static_cast<std::int64_t>(raw(step))).time(planned).time(end);
  row.integer(s.tokens).integer(s.sequences).integer(s.decode_sequences).integer(s.decode_context);
  row.integer(s.max_context).integer(s.prefill_sequences).integer(s.prefill_tokens).integer(s.sampled_rows);
  row.integer(s.new_sequences)
      .integer(s.graph_size)
      .integer(s.padding_tokens)
      .integer(p.running)
      .integer(p.waiting);
  row.integer(p.used.value).integer(p.free.value);
  for (const std::int64_t held : p.held) row.integer(held);
  row.end();
}

void write_gap_lists(const std::string& path, const std::map<RequestId, std::vector<Duration>>& gaps) {
  OutputFile file(path);
  for (const auto& [id, list] : gaps) {
    file.append("{\"id\":");
    file.append_integer(raw(id));
    file.append(",\"itls_ns\":[");
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (i > 0) file.append(',');
      file.append_integer(to_ns(list[i]));
    }
    file.append("]}\n");
  }
  file.commit();
}

}  // namespace servetwin
