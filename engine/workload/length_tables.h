// Built-in joint distributions of prompt and answer lengths, as quantiles of recorded traffic.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/samplers.h"
#include "engine/base/units.h"

namespace servetwin {

inline constexpr std::size_t kInputGroups = 5;

// Long prompts get other answers than short ones: the quantiles of the output stand once for each fifth of
// the requests, ordered by input.
struct LengthFigures {
  std::string name;
  std::string source;  // with licence
  std::vector<int> input;
  std::array<std::vector<int>, kInputGroups> output;
};

const std::vector<LengthFigures>& length_figures();
// At which probabilities the figures stand.
const std::vector<double>& input_probabilities();
const std::vector<double>& output_probabilities();

struct LengthPair {
  Tokens input{};
  Tokens output{};
};

class JointLengths {
 public:
  explicit JointLengths(const LengthFigures& figures);
  // The output is drawn among the requests whose input is alike. Both probabilities are in (0, 1).
  LengthPair quantile(double input_probability, double output_probability) const;

 private:
  QuantileTable input_;
  std::vector<QuantileTable> output_;  // one for each group of inputs
};

}  // namespace servetwin
