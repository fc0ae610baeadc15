// Shortest uncached prefill first: who has least to compute before its next output goes first, with the
// prefix cache as it is when the plan begins. Nobody is passed over more than max_skips times: after so many
// others have entered since it joined, it goes first.
#include <map>
#include <tuple>

#include "engine/base/registry.h"
#include "engine/serving/rules.h"

namespace servetwin {
namespace {

class ShortestUncached final : public WaitingOrder, public RuleListener {
 public:
  struct Params {
    std::int64_t max_skips = 64;

    template <class Visitor>
    void fields(Visitor& v) {
      v("max_skips", max_skips, "Admissions of others that a request lets pass.", Range{0, 1000000});
    }
  };
  explicit ShortestUncached(const Params& params) : params_(params) {}

  bool changing() const override { return true; }
  bool sees_cache() const override { return true; }
  RuleListener* listener() override { return this; }
  bool every_token() const override { return false; }

  bool before(const WaitingView& a, const WaitingView& b) const override { return rank(a) < rank(b); }

  void on_joined(const RequestSpec& request, Time /*now*/) override { joined_[request.id] = admissions_; }
  void on_admitted(const RequestSpec& /*request*/, Tokens /*hit*/, bool /*again*/, Time /*now*/) override {
    ++admissions_;
  }
  void on_left(const RequestSpec& request) override { joined_.erase(request.id); }

 private:
  // Those passed over often enough first, by arrival.
  std::tuple<int, std::int64_t, Time, RequestId> rank(const WaitingView& view) const {
    const auto joined = joined_.find(view.request->id);
    const bool waited = joined != joined_.end() && admissions_ - joined->second >= params_.max_skips;
    return {waited ? 0 : 1, waited ? 0 : view.rest.value, view.request->arrival, view.request->id};
  }

  Params params_;
  std::map<RequestId, std::int64_t> joined_;  // admissions before it
  std::int64_t admissions_ = 0;
};

const Registered<WaitingOrder, ShortestUncached> kShortestUncached{
    "shortest_uncached", "Least uncached prefill first. Bound: max_skips admissions of others."};

}  // namespace
}  // namespace servetwin
