// Decode attention's time by rows and mean context, evaluated once at fixed contexts and straight in between:
// what makes a decode step's time a line in its summed context.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace servetwin {

struct DecodeLine {
  double base = 0;   // at no context
  double slope = 0;  // per key, summed over rows
  double from = 0;   // summed context
  double until = 0;

  double at(double keys) const { return base + slope * keys; }
};

class DecodeSurface {
 public:
  DecodeSurface() = default;
  // Of up to `most_rows` rows and `most_context` tokens; beyond, the last piece goes on.
  DecodeSurface(std::int64_t most_rows,
                std::int64_t most_context,
                const std::function<double(double rows, double context)>& time);

  // Around so many keys in all. More rows than there are take as much longer.
  DecodeLine line(std::int64_t rows, double keys) const;

 private:
  std::vector<double> contexts_;
  std::vector<double> times_;  // by rows from 1 on, then context
  std::int64_t rows_ = 0;
};

}  // namespace servetwin
