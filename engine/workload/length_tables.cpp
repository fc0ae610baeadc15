// Draws from the built-in tables.
#include "engine/workload/length_tables.h"

#include <algorithm>

namespace servetwin {
namespace {

QuantileTable table_of(const std::vector<double>& probabilities, const std::vector<int>& values) {
  std::vector<QuantileTable::Point> points;
  for (std::size_t i = 0; i < values.size(); ++i) {
    points.push_back({probabilities[i], static_cast<double>(values[i])});
  }
  return QuantileTable(points);
}

}  // namespace

JointLengths::JointLengths(const LengthFigures& figures)
    : input_(table_of(input_probabilities(), figures.input)) {
  for (const std::vector<int>& output : figures.output) {
    output_.push_back(table_of(output_probabilities(), output));
  }
}

LengthPair JointLengths::quantile(double input_probability, double output_probability) const {
  const auto group = static_cast<std::size_t>(input_probability * static_cast<double>(kInputGroups));
  const QuantileTable& output = output_[std::min(group, kInputGroups - 1)];
  return {Tokens{input_.quantile(input_probability)}, Tokens{output.quantile(output_probability)}};
}

}  // namespace servetwin
