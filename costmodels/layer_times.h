// Times of one layer's operations as tables of a profiler hold them, looked up between their points.
// docs/cost-models.md describes the files.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "costmodels/cost_model.h"
#include "engine/base/digest.h"

namespace servetwin {

// A time in microseconds against one number, linear between points and beyond the last two.
class TimeTable {
 public:
  void add(double x, double us) { points_.emplace_back(x, us); }
  // After the last point; of two at one place the later stays.
  void sort();
  double at(double x) const;
  bool empty() const { return points_.empty(); }
  double last() const { return points_.back().first; }

 private:
  std::vector<std::pair<double, double>> points_;
};

// One attention call of a mixed batch: a chunk of prompt tokens after so many cached ones, and rows that
// decode at a common context. Linear between points along each axis; where a combination was not measured,
// the sum of its two halves, each extended along its last two points.
class AttentionTable {
 public:
  static constexpr std::size_t kAxes = 4;  // chunk, cached, rows, context
  using Point = std::array<double, kAxes>;

  void add(const Point& point, double us) { measured_[point] = us; }
  void finish();

  double at(const Point& point) const;
  // The axis points of contexts around one, between which at() is linear in it; the last piece has no end.
  std::array<double, 2> piece_of(double context) const;
  double reach(std::size_t axis) const { return axes_[axis].back(); }

 private:
  struct Place {
    std::size_t below = 0;
    double part = 0;
  };

  Place place_of(std::size_t axis, double x) const;
  std::size_t index_of(const std::array<std::size_t, kAxes>& at) const;
  double half(std::size_t first, std::size_t a, std::size_t b) const;

  std::map<Point, double> measured_;
  std::array<std::vector<double>, kAxes> axes_;
  std::vector<double> values_;
};

struct LayerTimes {
  std::map<std::string, TimeTable> by_tokens;     // an operation each
  std::map<std::string, TimeTable> by_sequences;  // lm_head, sampler
  AttentionTable attention;
  std::uint64_t hash = 0;
};

// Of <prefix>dense.csv, <prefix>attention.csv and <prefix>per_sequence.csv. Throws ConfigError with file and
// line.
LayerTimes read_layer_times(const std::string& prefix);

}  // namespace servetwin
