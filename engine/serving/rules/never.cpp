// Nobody running gives way to the waiting (vLLM V1: an arrival preempts nobody).
#include "engine/base/registry.h"
#include "engine/serving/rules.h"

namespace servetwin {
namespace {

class Never final : public YieldRule {
 public:
  struct Params {
    template <class Visitor>
    void fields(Visitor& /*v*/) {}
  };
  explicit Never(const Params& /*params*/) {}

  bool may() const override { return false; }
  std::int64_t most() const override { return 0; }
  std::optional<std::size_t> pick(const WaitingView& /*head*/,
                                  const std::vector<WaitingView>& /*running*/,
                                  const WaitingOrder& /*order*/) const override {
    return std::nullopt;
  }
};

const Registered<YieldRule, Never> kNever{"never", "Nobody gives way; only want of KV preempts (vLLM V1)."};

}  // namespace
}  // namespace servetwin
