// See golden_scenario.h.
#include "tests/support/golden_scenario.h"

#include <algorithm>
#include <deque>
#include <set>
#include <sstream>

#include "engine/base/check.h"

namespace servetwin {

namespace {

struct StepInFlight {
  StepTrace trace;
  Time end;
};

class World {
 public:
  World(GoldenDriver& driver, const GoldenScenario& scenario)
      : driver_(driver), scenario_(scenario), produced_(scenario.jobs.size(), 0) {}

  GoldenRun run() {
    for (Time now = next_stamp(kTimeZero, true); now != kTimeNever; now = next_stamp(now, false)) {
      driver_.advance_to(now);
      for (const GoldenJob& job : scenario_.jobs) {
        if (job.cancelled == now && ended_.count(job.spec.id) == 0) driver_.cancel(job.spec.id);
      }
      note_ends();
      while (!in_flight_.empty() && in_flight_.front().end == now) finish_oldest(now);
      for (const GoldenJob& job : scenario_.jobs) {
        if (job.ready == now && ended_.count(job.spec.id) == 0)
          driver_.ready(job.spec.id, job.spec.waits_for);
      }
      for (const GoldenJob& job : scenario_.jobs) {
        if (job.spec.arrival == now) driver_.arrive(job.spec);
      }
      note_ends();
      while (std::optional<StepTrace> step = driver_.plan()) start(*step, now);
    }
    run_.digests = driver_.digests();
    return run_;
  }

 private:
  // The first stamp after `now` (or at it, the first time) at which something happens.
  Time next_stamp(Time now, bool or_now) const {
    Time next = kTimeNever;
    const auto offer = [&](Time t) {
      if (t > now || (or_now && t == now)) next = std::min(next, t);
    };
    for (const GoldenJob& job : scenario_.jobs) {
      offer(job.spec.arrival);
      offer(job.cancelled);
      offer(job.ready);
    }
    if (!in_flight_.empty()) offer(in_flight_.front().end);
    return next;
  }

  void start(const StepTrace& step, Time now) {
    run_.steps.push_back(step);
    CHECK_INVARIANT(run_.steps.size() < 100000, "a scenario that never ends");
    const auto& durations = scenario_.step_durations;
    device_free_ = std::max(device_free_, now) + durations[run_.steps.size() % durations.size()];
    in_flight_.push_back({step, device_free_});
  }

  // Nothing but the end of a step happens at this stamp.
  bool alone_at(Time now) const {
    return std::none_of(scenario_.jobs.begin(), scenario_.jobs.end(), [now](const GoldenJob& job) {
      return job.spec.arrival == now || job.cancelled == now || job.ready == now;
    });
  }

  void finish_oldest(Time now) {
    const StepTrace step = in_flight_.front().trace;
    in_flight_.pop_front();
    std::vector<RequestId> stops;
    for (const RequestId id : step.sampled) {
      if (ended_.count(id) > 0) continue;
      if (++produced_[raw(id)] == scenario_.jobs[raw(id)].output) stops.push_back(id);
    }
    driver_.finish_step(step.step, stops, alone_at(now));
    note_ends();
  }

  void note_ends() {
    for (const EndTrace& end : driver_.take_ends()) {
      ended_.insert(end.request);
      run_.ends.push_back(end);
    }
  }

  GoldenDriver& driver_;
  const GoldenScenario& scenario_;
  std::vector<std::int64_t> produced_;
  std::deque<StepInFlight> in_flight_;
  Time device_free_ = kTimeZero;
  std::set<RequestId> ended_;
  GoldenRun run_;
};

template <class Range, class Print>
std::string joined(const Range& range, Print print) {
  std::ostringstream out;
  const char* separator = "";
  for (const auto& item : range) {
    out << separator;
    print(out, item);
    separator = " ";
  }
  return out.str();
}

}  // namespace

GoldenRun run_scenario(GoldenDriver& driver, const GoldenScenario& scenario) {
  return World(driver, scenario).run();
}

std::string to_text(const std::vector<std::pair<RequestId, std::int64_t>>& counts) {
  return joined(counts, [](auto& out, const auto& item) { out << raw(item.first) << ':' << item.second; });
}

std::string to_text(const std::vector<RequestId>& ids) {
  return joined(ids, [](auto& out, RequestId id) { out << raw(id); });
}

std::string to_text(const StepTrace& step) {
  std::ostringstream out;
  out << "step " << step.step << " at " << to_ns(step.time) << ": " << to_text(step.tokens) << " | hits "
      << to_text(step.admitted) << " | sampled " << to_text(step.sampled) << " | preempted "
      << to_text(step.preempted) << " | out " << to_text(step.swapped_out) << " | in "
      << to_text(step.swapped_in) << " | copied " << step.swap_blocks << " | used " << step.used << " free "
      << step.free << " | held " << joined(step.held, [](auto& o, std::int64_t n) { o << n; });
  if (step.free_ids) out << " | free ids " << joined(*step.free_ids, [](auto& o, int id) { o << id; });
  return out.str();
}

std::string to_text(const EndTrace& end) {
  std::ostringstream out;
  out << raw(end.request) << ' ' << to_string(end.state) << " outputs " << end.outputs << " preemptions "
      << end.preemptions << " at " << to_ns(end.time);
  return out.str();
}

std::string to_text(const GoldenScenario& scenario) {
  const EngineConfig& e = scenario.setup.engine;
  std::ostringstream out;
  out << "tokens " << e.max_num_batched_tokens.value << " seqs " << e.max_num_seqs << " len "
      << e.max_model_len.value << " block " << e.block_size.value << " pool " << e.num_blocks.value
      << " host " << e.host_blocks.value << " cache " << e.prefix_caching << " chunked " << e.chunked_prefill
      << " threshold " << e.long_prefill_token_threshold.value << " watermark " << e.watermark << " gate "
      << e.full_sequence_gate << " depth " << e.in_flight.depth << " speculate "
      << e.in_flight.speculate_outputs << " priority " << scenario.setup.by_priority << " durations "
      << joined(scenario.step_durations, [](auto& o, Duration d) { o << d.count(); }) << '\n';
  for (const GoldenJob& job : scenario.jobs) {
    const RequestSpec& s = job.spec;
    out << "  " << raw(s.id) << ": at " << to_ns(s.arrival) << " prompt " << s.prompt.value << " max "
        << s.max_tokens.value << " output " << job.output << " priority " << s.priority << " adapter "
        << raw(s.adapter) << " salt " << s.cache_salt << " continues " << s.continues_content << " content ["
        << joined(s.content, [](auto& o, const ContentSegment& c) { o << c.stream << 'x' << c.length.value; })
        << ']';
    if (job.cancelled != kTimeNever) out << " cancelled " << to_ns(job.cancelled);
    if (job.ready != kTimeNever) out << " ready " << to_ns(job.ready);
    out << '\n';
  }
  return out.str();
}

}  // namespace servetwin
