// Knots are a quarter of a power of two apart.
#include "costmodels/decode_surface.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/base/check.h"

namespace servetwin {

DecodeSurface::DecodeSurface(std::int64_t most_rows,
                             std::int64_t most_context,
                             const std::function<double(double, double)>& time)
    : rows_(std::max<std::int64_t>(1, most_rows)) {
  const double quarter = std::sqrt(std::sqrt(2.0));
  const double most = static_cast<double>(std::max<std::int64_t>(256, most_context));
  for (double context = 1; context < most * quarter; context = context < 16 ? 16 : context * quarter)
    contexts_.push_back(context);
  times_.reserve(static_cast<std::size_t>(rows_) * contexts_.size());
  for (std::int64_t rows = 1; rows <= rows_; ++rows) {
    for (const double context : contexts_) times_.push_back(time(static_cast<double>(rows), context));
  }
}

DecodeLine DecodeSurface::line(std::int64_t rows, double keys) const {
  CHECK_INVARIANT(rows > 0 && rows_ > 0, rows, rows_);
  const auto n = static_cast<double>(rows);
  const double context = keys / n;
  const auto above = std::upper_bound(contexts_.begin() + 1, contexts_.end() - 1, context);
  const auto high = static_cast<std::size_t>(above - contexts_.begin());
  const std::int64_t row = std::min(rows, rows_);
  const double beyond = n / static_cast<double>(row);
  const double* times = times_.data() + static_cast<std::size_t>(row - 1) * contexts_.size();
  const double low_context = contexts_[high - 1];
  DecodeLine line;
  line.slope = beyond * (times[high] - times[high - 1]) / (contexts_[high] - low_context) / n;
  line.base = beyond * times[high - 1] - line.slope * low_context * n;
  line.from = high == 1 ? 0 : low_context * n;
  line.until = high + 1 == contexts_.size() ? std::numeric_limits<double>::infinity() : contexts_[high] * n;
  return line;
}

}  // namespace servetwin
