// Published measurements of real engines, and what this program says of the same runs: the seam of all sets.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/registry.h"

namespace servetwin {

// One published figure beside our own.
struct PublishedFigure {
  std::string group;      // what is left out together when a fit is tested: a model, a device
  std::string condition;  // which run: model, layout, load
  std::string metric;     // such as e2e_mean_ms; a bound of its own each
  double measured = 0;
  std::optional<double> predicted;                       // none: refused, and `note` says why
  std::vector<std::pair<std::string, double>> others{};  // what other predictors said, as published
  bool scored = true;                                    // false: `note` says why it cannot be predicted
  std::string note{};

  // (predicted - measured) / measured.
  double error() const { return *predicted / measured - 1; }
};

struct PublishedOptions {
  std::string data;              // the folder of all sets
  std::vector<std::string> set;  // overrides of every scenario, as simulate --set
  int seeds = 1;                 // runs with other draws whose figures are averaged
  std::string only;              // groups whose name holds this; empty: all
  int every = 1;                 // of their rows each so many, the first among them
  std::function<void(int done, int all)> progress{};
};

// Which rows of a set are asked for.
class RowChoice {
 public:
  explicit RowChoice(const PublishedOptions& options) : options_(options) {}
  // Asked once for each row, in their order.
  bool takes(const std::string& group) {
    return group.find(options_.only) != std::string::npos && seen_++ % options_.every == 0;
  }

 private:
  const PublishedOptions& options_;
  int seen_ = 0;
};

class PublishedSet {
 public:
  // Sets take no parameters.
  struct Params {
    template <class Visitor>
    void fields(Visitor& /*v*/) {}
  };

  virtual ~PublishedSet() = default;
  // In the order of the files. Throws ConfigError where they are missing or cannot be read.
  virtual std::vector<PublishedFigure> predict(const PublishedOptions& options) const = 0;
  // The folder of the set within the data folder.
  virtual std::string folder() const = 0;
  // Source and licence.
  virtual std::string source() const = 0;
};

}  // namespace servetwin
