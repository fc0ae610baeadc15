// The bound that orders over sizes share: who waited long enough goes first, in order of arrival.
#pragma once

#include <optional>
#include <tuple>

#include "engine/serving/waiting_order.h"

namespace servetwin {

// Nobody who arrives `max_wait` after a request is looked at before it, whatever the order is among the rest.
class Aged {
 public:
  explicit Aged(Duration max_wait) : max_wait_(max_wait) {}

  Duration bound() const { return max_wait_; }

  // Whether `a` goes first, where age decides that.
  std::optional<bool> decides(const WaitingView& a, const WaitingView& b) const {
    const bool a_aged = a.now - a.request->arrival >= max_wait_;
    const bool b_aged = b.now - b.request->arrival >= max_wait_;
    if (a_aged != b_aged) return a_aged;
    if (!a_aged) return std::nullopt;
    return std::tuple{a.request->arrival, a.request->id} < std::tuple{b.request->arrival, b.request->id};
  }

  // By age where that decides, else the smaller rank first.
  template <class Rank>
  bool before(const WaitingView& a, const WaitingView& b, Rank rank) const {
    const std::optional<bool> decided = decides(a, b);
    return decided.has_value() ? *decided : rank(a) < rank(b);
  }

 private:
  Duration max_wait_;
};

}  // namespace servetwin
