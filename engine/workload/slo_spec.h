// What counts as good service, as parameters: for a scenario as a whole, and for a class where it differs.
#pragma once

#include <optional>

#include "engine/base/params.h"
#include "engine/base/time.h"

namespace servetwin {

struct SloSpec {
  std::optional<Duration> ttft;
  std::optional<Duration> tpot;
  std::optional<Duration> itl;
  std::optional<Duration> e2e;

  template <class Visitor>
  void fields(Visitor& v) {
    v("ttft", ttft, "Longest time from arrival to the first token.", kPositive);
    v("tpot", tpot, "Longest mean time for each token after the first.", kPositive);
    v("itl", itl, "Longest gap between tokens; at most 1 % of a request's gaps may exceed it.", kPositive);
    v("e2e", e2e, "Longest time from arrival to the last token.", kPositive);
  }
  // This, with what it leaves open taken from `base`.
  SloSpec over(const SloSpec& base) const {
    return {ttft ? ttft : base.ttft, tpot ? tpot : base.tpot, itl ? itl : base.itl, e2e ? e2e : base.e2e};
  }
};

}  // namespace servetwin
