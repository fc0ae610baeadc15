// Skip-join multi-level feedback queues (FastServe): short jobs first, though nobody says who is short. Wu et
// al., 2023.
#include <map>
#include <tuple>

#include "engine/base/registry.h"
#include "engine/serving/rules.h"

namespace servetwin {
namespace {

using namespace std::chrono_literals;

// A request joins at the first level whose quantum holds its prefill, uses up the quantum of its level and
// goes down by one, each level's quantum being twice the one above. Who waited `promote_after` comes before
// the top level, in order of arrival, and begins there again. Preemptive with yield: by_order.
class Mlfq final : public WaitingOrder, public RuleListener {
 public:
  struct Params {
    Tokens quantum{32};
    std::int64_t levels = 8;
    double prefill_weight = 0.05;
    Duration promote_after = 10s;

    template <class Visitor>
    void fields(Visitor& v) {
      v("quantum", quantum, "Work of the top level, in outputs; twice that in each further one.",
        Range{1, 1000000});
      v("levels", levels, "Levels.", Range{1, 30});
      v("prefill_weight", prefill_weight, "Work of a token to be computed, an output being 1.",
        Range{0.0, 10.0});
      v("promote_after", promote_after, "Waiting after which a request begins at the top again.",
        Range{0ns, 24h});
    }
  };
  explicit Mlfq(const Params& params) : params_(params) {}

  bool changing() const override { return true; }
  RuleListener* listener() override { return this; }
  std::optional<Duration> starvation_bound() const override { return params_.promote_after; }

  bool before(const WaitingView& a, const WaitingView& b) const override { return rank(a) < rank(b); }

  void on_joined(const RequestSpec& request, Time /*now*/) override {
    Job& job = jobs_[request.id];
    const double prefill = params_.prefill_weight * static_cast<double>(request.prompt.value);
    while (job.level + 1 < params_.levels && quantum_of(job.level) < prefill) ++job.level;
    job.since = request.arrival;
  }
  void on_admitted(const RequestSpec& request, Tokens /*hit*/, bool /*again*/, Time now) override {
    Job& job = jobs_[request.id];
    if (now - job.since >= params_.promote_after) job = Job{0, 0, job.since, false};
    job.waits = false;
  }
  void on_output(const RequestSpec& request, Time /*now*/) override {
    Job& job = jobs_[request.id];
    job.used += 1;
    if (job.used < quantum_of(job.level) || job.level + 1 == params_.levels) return;
    ++job.level;
    job.used = 0;
  }
  void on_preempted(const RequestSpec& request, Time now) override {
    Job& job = jobs_[request.id];
    job.waits = true;
    job.since = now;
  }
  void on_left(const RequestSpec& request) override { jobs_.erase(request.id); }

 private:
  struct Job {
    std::int64_t level = 0;
    double used = 0;  // of its level's quantum
    Time since = kTimeZero;
    bool waits = true;
  };

  double quantum_of(std::int64_t level) const { return static_cast<double>(params_.quantum.value << level); }
  std::tuple<std::int64_t, Time, RequestId> rank(const WaitingView& view) const {
    const auto found = jobs_.find(view.request->id);
    const Job job = found == jobs_.end() ? Job{} : found->second;
    const bool starved = job.waits && view.now - job.since >= params_.promote_after;
    return {starved ? -1 : job.level, view.request->arrival, view.request->id};
  }

  Params params_;
  std::map<RequestId, Job> jobs_;
};

const Registered<WaitingOrder, Mlfq> kMlfq{
    "mlfq", "Skip-join multi-level feedback queues (FastServe). Bound: promote_after."};

}  // namespace
}  // namespace servetwin
