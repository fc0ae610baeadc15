// How many tokens a prompt or an answer has: one plug-in per distribution, given by its quantile function.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/base/config_node.h"
#include "engine/base/params.h"

namespace servetwin {

// By inverse distribution function, so that a draw is one uniform number and lengths can be drawn jointly.
class LengthDistribution {
 public:
  virtual ~LengthDistribution() = default;
  // The length below which a share `probability` of all lies, at least 1; rises with it. 0 < probability < 1.
  virtual Tokens quantile(double probability) const = 0;
};

// Keys that every distribution has: what falls outside is set to the nearer end.
struct LengthClip {
  Tokens min{1};
  Tokens max{100'000'000};

  template <class Visitor>
  void fields(Visitor& v) {
    v("min", min, "Shorter draws become this.", Range{Tokens{1}, Tokens{100'000'000}});
    v("max", max, "Longer draws become this.", Range{Tokens{1}, Tokens{100'000'000}});
  }
  std::string problem() const { return min > max ? "min is above max" : ""; }
  // Rounds half up, then clips.
  Tokens apply(double length) const;
};

}  // namespace servetwin
