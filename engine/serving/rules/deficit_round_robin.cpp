// Deficit round robin over tenants: in each round a tenant may use a quantum of tokens more. Shreedhar and
// Varghese, 1995, in its surplus form.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "engine/base/registry.h"
#include "engine/serving/rules.h"

namespace servetwin {
namespace {

// What is not known when a request enters, its outputs, is charged as it comes, so a deficit may go below
// nothing and is paid off in later rounds. A tenant with nothing waiting keeps no credit.
class DeficitRoundRobin final : public WaitingOrder, public RuleListener {
 public:
  struct Params {
    Tokens quantum{512};

    template <class Visitor>
    void fields(Visitor& v) {
      v("quantum", quantum, "Tokens, prompt and output, of a tenant in a round.", Range{1, 1000000000});
    }
  };
  explicit DeficitRoundRobin(const Params& params) : params_(params) {}

  bool changing() const override { return true; }
  RuleListener* listener() override { return this; }

  bool before(const WaitingView& a, const WaitingView& b) const override { return rank(a) < rank(b); }

  void on_joined(const RequestSpec& request, Time /*now*/) override { ++tenants_[request.tenant].waiting; }
  void on_preempted(const RequestSpec& request, Time /*now*/) override {
    running_.erase(request.id);
    ++tenants_[request.tenant].waiting;
  }
  void on_admitted(const RequestSpec& request, Tokens /*hit*/, bool again, Time /*now*/) override {
    const std::int64_t passed = rounds(tenants_[request.tenant]);
    for (auto& [id, tenant] : tenants_) {
      if (tenant.waiting > 0) tenant.deficit += passed * params_.quantum.value;
    }
    running_.insert(request.id);
    stop_waiting(request);
    turn_ = request.tenant;
    if (!again) tenants_[request.tenant].deficit -= request.prompt.value;
  }
  void on_output(const RequestSpec& request, Time /*now*/) override { --tenants_[request.tenant].deficit; }
  void on_left(const RequestSpec& request) override {
    if (running_.erase(request.id) == 0) stop_waiting(request);
  }

 private:
  struct Tenant {
    std::int64_t deficit = 0;
    std::int64_t waiting = 0;
  };

  // After how many rounds it may send again.
  std::int64_t rounds(const Tenant& tenant) const {
    return tenant.deficit > 0 ? 0 : ceil_div(1 - tenant.deficit, params_.quantum.value);
  }
  std::tuple<std::int64_t, int, TenantId, std::int64_t> rank(const WaitingView& view) const {
    const TenantId id = view.request->tenant;
    const auto tenant = tenants_.find(id);
    const bool had_its_turn = id < turn_;  // in this round
    return {rounds(tenant == tenants_.end() ? Tenant{} : tenant->second), had_its_turn ? 1 : 0, id,
            view.place};
  }
  void stop_waiting(const RequestSpec& request) {
    Tenant& tenant = tenants_[request.tenant];
    if (--tenant.waiting == 0) tenant.deficit = std::min<std::int64_t>(tenant.deficit, 0);
  }

  Params params_;
  std::map<TenantId, Tenant> tenants_;
  std::set<RequestId> running_;
  TenantId turn_{0};  // whose turn it was last
};

const Registered<WaitingOrder, DeficitRoundRobin> kDeficitRoundRobin{
    "deficit_round_robin", "A quantum of tokens per tenant and round. No bound for one request of many."};

}  // namespace
}  // namespace servetwin
