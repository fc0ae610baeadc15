// Fair shares by virtual token counters (VTC): each tenant's counter grows by what it is served, divided by
// its weight, and the tenant with the smallest goes first. Sheng et al., OSDI 2024.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "engine/base/registry.h"
#include "engine/serving/rules.h"

namespace servetwin {
namespace {

// Who comes back after a pause starts from the smallest counter of those who wait: pauses earn nothing. Work
// conserving. Two tenants who always wait differ in service by at most 2 * max(w_in * longest prompt, w_out *
// tokens the KV cache holds).
class Vtc final : public WaitingOrder, public RuleListener {
 public:
  struct Params {
    double input_weight = 1;
    double output_weight = 2;
    std::vector<double> tenant_weights;

    template <class Visitor>
    void fields(Visitor& v) {
      v("input_weight", input_weight, "Service of one prompt token.", Range{0.0, 1000.0});
      v("output_weight", output_weight, "Service of one output token.", Range{0.0, 1000.0});
      v("tenant_weights", tenant_weights, "Shares by tenant number; 1 where the list ends.",
        Range{0.001, 1000.0});
    }
  };
  explicit Vtc(const Params& params) : params_(params) {}

  bool changing() const override { return true; }
  RuleListener* listener() override { return this; }

  bool before(const WaitingView& a, const WaitingView& b) const override { return rank(a) < rank(b); }

  void on_joined(const RequestSpec& request, Time /*now*/) override { wait(request); }
  void on_preempted(const RequestSpec& request, Time /*now*/) override {
    running_.erase(request.id);
    wait(request);
  }
  void on_admitted(const RequestSpec& request, Tokens /*hit*/, bool again, Time /*now*/) override {
    running_.insert(request.id);
    stop_waiting(request);
    if (!again) serve(request, params_.input_weight * static_cast<double>(request.prompt.value));
  }
  void on_output(const RequestSpec& request, Time /*now*/) override { serve(request, params_.output_weight); }
  void on_left(const RequestSpec& request) override {
    if (running_.erase(request.id) == 0) stop_waiting(request);
  }

 private:
  struct Tenant {
    double counter = 0;
    std::int64_t waiting = 0;
  };

  std::tuple<double, TenantId, std::int64_t> rank(const WaitingView& view) const {
    const auto tenant = tenants_.find(view.request->tenant);
    return {tenant == tenants_.end() ? 0 : tenant->second.counter, view.request->tenant, view.place};
  }

  void wait(const RequestSpec& request) {
    Tenant& own = tenants_[request.tenant];
    if (own.waiting++ > 0) return;
    double least = last_idle_;
    bool found = false;
    for (const auto& [id, tenant] : tenants_) {
      if (id == request.tenant || tenant.waiting == 0) continue;
      least = found ? std::min(least, tenant.counter) : tenant.counter;
      found = true;
    }
    own.counter = std::max(own.counter, least);
  }
  void stop_waiting(const RequestSpec& request) {
    Tenant& own = tenants_[request.tenant];
    if (--own.waiting == 0) last_idle_ = own.counter;
  }
  void serve(const RequestSpec& request, double service) {
    const std::size_t number = raw(request.tenant);
    const double weight = number < params_.tenant_weights.size() ? params_.tenant_weights[number] : 1;
    tenants_[request.tenant].counter += service / weight;
  }

  Params params_;
  std::map<TenantId, Tenant> tenants_;
  std::set<RequestId> running_;
  double last_idle_ = 0;  // counter of the tenant that stopped waiting last
};

const Registered<WaitingOrder, Vtc> kVtc{
    "vtc", "Fair shares of (weighted) tenants by virtual token counters. No bound for one request of many."};

}  // namespace
}  // namespace servetwin
