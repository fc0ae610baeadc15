// Turns problems with the input into one message a person can act on.
#include "engine/base/error.h"

#include <algorithm>
#include <utility>

namespace servetwin {
namespace {

std::string join_problems(const std::vector<Problem>& problems) {
  constexpr std::size_t kShown = 20;
  std::string text;
  for (std::size_t i = 0; i < problems.size() && i < kShown; ++i) {
    if (i > 0) text += '\n';
    text += to_string(problems[i]);
  }
  if (problems.size() > kShown) text += "\nand " + std::to_string(problems.size() - kShown) + " more";
  return text;
}

std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = diagonal + (a[i - 1] == b[j - 1] ? 0U : 1U);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replace});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string to_string(const Problem& problem) {
  std::string text;
  if (!problem.place.file.empty()) {
    text += problem.place.file;
    if (problem.place.line > 0) text += ':' + std::to_string(problem.place.line);
    if (problem.place.column > 0) text += ':' + std::to_string(problem.place.column);
    text += ": ";
  }
  if (!problem.path.empty()) text += problem.path + ": ";
  text += problem.message;
  if (!problem.remedy.empty()) text += " (" + problem.remedy + ')';
  if (!problem.code.empty()) text += " [" + problem.code + ']';
  return text;
}

ConfigError::ConfigError(Problem problem) : ConfigError(std::vector<Problem>{std::move(problem)}) {}

ConfigError::ConfigError(std::vector<Problem> problems)
    : std::runtime_error(join_problems(problems)), problems_(std::move(problems)) {}

std::string nearest_name(const std::string& word, const std::vector<std::string>& candidates) {
  std::string best;
  std::size_t best_distance = word.size() / 3 + 2;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

}  // namespace servetwin
