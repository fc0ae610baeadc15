// One step of vLLM V1's scheduler spelled out request by request, without any shortcut: the oracle for the
// core.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "tests/support/golden_driver.h"
#include "tests/support/naive_kv.h"

namespace servetwin {

class NaiveScheduler final : public GoldenDriver {
 public:
  explicit NaiveScheduler(const GoldenSetup& setup);

  void advance_to(Time now) override { now_ = now; }
  void cancel(RequestId id) override;
  void finish_step(std::int64_t step, const std::vector<RequestId>& stops, bool alone) override;
  void ready(RequestId id, WaitsFor what) override;
  void reset_cache(bool forced) override;
  void arrive(const RequestSpec& spec) override;
  std::optional<StepTrace> plan() override;
  std::vector<EndTrace> take_ends() override;
  std::int64_t free_blocks() const override { return kv_.free_count(); }
  std::int64_t used_blocks() const override { return kv_.used_count(); }
  std::optional<std::vector<int>> block_ids(RequestId id) const override { return kv_.block_ids(id); }
  std::optional<std::vector<int>> free_ids() const override { return kv_.free_ids(); }

 private:
  struct Request {
    RequestSpec spec;
    std::int64_t computed = 0;
    std::int64_t outputs = 0;
    std::int64_t placeholders = 0;  // outputs in flight
    std::int64_t steps_in_flight = 0;
    std::int64_t preemptions = 0;
    bool discard_in_flight = false;  // after a forced cache reset
    std::int64_t on_host = 0;        // tokens whose KV was swapped out

    std::int64_t known() const { return spec.prompt.value + outputs; }
  };

  struct Row {
    RequestId id;
    bool sampled;
  };

  // What one plan keeps while it is being made.
  struct Draft {
    std::int64_t budget;
    std::map<RequestId, std::int64_t> tokens;
    StepTrace trace;
    std::set<RequestId> victims;
    std::set<RequestId> explained;  // running requests whose reason is already counted
  };

  bool blocked(const Request& request) const;
  bool finishes_with_in_flight(const Request& request) const;
  std::int64_t gap(const Request& request, std::int64_t budget) const;

  void plan_running(Draft& draft);
  bool make_room(Draft& draft, RequestId id, std::int64_t tokens);
  RequestId victim() const;
  void preempt(RequestId id);
  void swap_out(Draft& draft, Request& request);
  void leave_host(Request& request);
  void plan_waiting(Draft& draft);
  std::optional<HeldReason> try_admit(Draft& draft, RequestId id);
  bool next_is_skipped() const;
  void commit(Draft& draft);
  static std::int64_t& held(Draft& draft, HeldReason reason);

  void enqueue(RequestId id);
  bool comes_before(RequestId a, RequestId b) const;
  void sort_if_by_priority(std::deque<RequestId>& queue) const;
  void append_token(Request& request, bool stop);
  void end(RequestId id, EndState state);

  GoldenSetup setup_;
  NaiveKv kv_;
  Time now_ = kTimeZero;
  bool plannable_ = false;
  std::int64_t last_step_ = 0;
  std::map<RequestId, Request> requests_;  // not ended
  std::vector<RequestId> running_;         // in order of admission
  std::deque<RequestId> waiting_;          // best first
  std::deque<RequestId> skipped_;          // blocked ones and those set aside, best first
  std::map<std::int64_t, std::vector<Row>> in_flight_;
  std::vector<RequestId> preempted_;                             // since the last started step
  std::vector<std::pair<RequestId, std::int64_t>> swapped_out_;  // the same
  std::int64_t host_free_;
  std::vector<EndTrace> ends_;
};

}  // namespace servetwin
