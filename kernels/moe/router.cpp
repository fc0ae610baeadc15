// Token by token: scores, groups, the best k.
#include "kernels/moe/router.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <numeric>
#include <vector>

#include "engine/base/det_math.h"

namespace servetwin {
namespace {

constexpr float kLeast = -std::numeric_limits<float>::infinity();

// Ids of the `count` largest, the largest first; of equal ones the lower first.
std::vector<std::int32_t> largest(const std::vector<float>& values, std::int64_t count) {
  std::vector<std::int32_t> ids(values.size());
  std::iota(ids.begin(), ids.end(), 0);
  const auto before = [&](std::int32_t a, std::int32_t b) {
    const float of_a = values[static_cast<std::size_t>(a)];
    const float of_b = values[static_cast<std::size_t>(b)];
    return of_a > of_b || (of_a == of_b && a < b);
  };
  std::partial_sort(ids.begin(), ids.begin() + count, ids.end(), before);
  ids.resize(static_cast<std::size_t>(count));
  return ids;
}

float exponential_of(float x) { return static_cast<float>(det_exp(static_cast<double>(x))); }

void score(RouterScore kind, const float* logits, std::vector<float>& scores) {
  if (kind == RouterScore::kSigmoid) {
    std::transform(logits, logits + scores.size(), scores.begin(),
                   [](float logit) { return 1.0F / (1.0F + exponential_of(-logit)); });
    return;
  }
  const float maximum = *std::max_element(logits, logits + scores.size());
  std::transform(logits, logits + scores.size(), scores.begin(),
                 [&](float logit) { return exponential_of(logit - maximum); });
  const float total = std::accumulate(scores.begin(), scores.end(), 0.0F);
  for (float& value : scores) value /= total;
}

float score_of_group(GroupScore kind, const float* scores, std::int64_t size) {
  const float first = *std::max_element(scores, scores + size);
  if (kind == GroupScore::kMaximum || size < 2) return first;
  std::vector<float> sorted(scores, scores + size);
  std::nth_element(sorted.begin(), sorted.begin() + 1, sorted.end(), std::greater<>());
  return first + sorted[1];
}

// Scores outside the best groups become −∞.
void keep_groups(const RouterOptions& options, std::vector<float>& choice) {
  if (options.groups <= 1 || options.top_groups >= options.groups) return;
  const std::int64_t size = options.experts / options.groups;
  std::vector<float> of_groups;
  for (std::int64_t group = 0; group < options.groups; ++group) {
    of_groups.push_back(score_of_group(options.group_score, choice.data() + group * size, size));
  }
  const std::vector<std::int32_t> kept = largest(of_groups, options.top_groups);
  for (std::int64_t expert = 0; expert < options.experts; ++expert) {
    const auto group = static_cast<std::int32_t>(expert / size);
    if (std::find(kept.begin(), kept.end(), group) == kept.end())
      choice[static_cast<std::size_t>(expert)] = kLeast;
  }
}

}  // namespace

void route(const RouterOptions& options,
           const float* logits,
           const float* correction,
           std::int64_t tokens,
           std::int32_t* ids,
           float* weights) {
  std::vector<float> scores(static_cast<std::size_t>(options.experts));
  std::vector<float> choice;
  for (std::int64_t t = 0; t < tokens; ++t, logits += options.experts) {
    score(options.score, logits, scores);
    choice = scores;
    for (std::size_t i = 0; correction != nullptr && i < choice.size(); ++i) choice[i] += correction[i];
    keep_groups(options, choice);
    const std::vector<std::int32_t> chosen = largest(choice, options.top_k);
    float total = 0;
    for (const std::int32_t id : chosen) total += scores[static_cast<std::size_t>(id)];
    for (const std::int32_t id : chosen) {
      const float weight = scores[static_cast<std::size_t>(id)];
      *ids++ = id;
      *weights++ = (options.renormalise ? weight / total : weight) * options.factor;
    }
  }
}

}  // namespace servetwin
