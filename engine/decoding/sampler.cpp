// Restrictions, penalties, greedy choice; else temperature, min-p, top-k, top-p and one draw.
#include "engine/decoding/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/base/check.h"
#include "engine/base/det_math.h"
#include "engine/base/rng.h"

namespace servetwin {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

bool contains(const std::vector<TokenId>& ids, TokenId token) {
  return std::find(ids.begin(), ids.end(), token) != ids.end();
}

// log Σ exp(logit), in double and in order of id.
double log_sum_exp(const std::vector<float>& logits) {
  const double maximum = *std::max_element(logits.begin(), logits.end());
  double total = 0;
  for (const float logit : logits) total += det_exp(static_cast<double>(logit) - maximum);
  return maximum + det_log(total);
}

}  // namespace

bool stops(const SamplingParams& params, TokenId token, std::int64_t outputs) {
  if (outputs < params.min_tokens) return false;
  return (!params.ignore_eos && contains(params.eos_ids, token)) || contains(params.stop_ids, token);
}

SampledToken Sampler::sample(const float* logits,
                             std::int64_t vocab,
                             const SamplingParams& params,
                             const SamplingContext& context) {
  raw_.assign(logits, logits + vocab);
  logits_ = raw_;
  restrict(params, context);
  penalise(params, context);
  SampledToken result;
  result.token = params.temperature <= 0 ? most_likely() : draw(params, context);
  if (params.logprobs >= 0) report_logprobs(params, result);
  return result;
}

void Sampler::report_logprobs(const SamplingParams& params, SampledToken& result) const {
  const double total = log_sum_exp(raw_);
  const auto logprob = [&](TokenId token) {
    return static_cast<float>(static_cast<double>(raw_[static_cast<std::size_t>(token)]) - total);
  };
  result.logprob = logprob(result.token);
  std::vector<TokenId> ids(raw_.size());
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<TokenId>(i);
  const auto count = std::min<std::ptrdiff_t>(params.logprobs, static_cast<std::ptrdiff_t>(ids.size()));
  std::partial_sort(ids.begin(), ids.begin() + count, ids.end(), [this](TokenId a, TokenId b) {
    const float of_a = raw_[static_cast<std::size_t>(a)];
    const float of_b = raw_[static_cast<std::size_t>(b)];
    return of_a != of_b ? of_a > of_b : a < b;
  });
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    const TokenId token = ids[static_cast<std::size_t>(i)];
    result.top.push_back({token, logprob(token)});
  }
}

// Allowed ids, then what may not end the answer yet, then bias.
void Sampler::restrict(const SamplingParams& params, const SamplingContext& context) {
  if (!params.allowed.empty()) {
    std::vector<float> restricted(logits_.size(), kNever);
    for (const TokenId id : params.allowed) {
      restricted[static_cast<std::size_t>(id)] = logits_[static_cast<std::size_t>(id)];
    }
    logits_.swap(restricted);
  }
  const auto outputs = static_cast<std::int64_t>(context.tokens->size()) - context.prompt;
  if (outputs + 1 < params.min_tokens) {
    for (const TokenId id : params.eos_ids) logits_[static_cast<std::size_t>(id)] = kNever;
    for (const TokenId id : params.stop_ids) logits_[static_cast<std::size_t>(id)] = kNever;
  }
  for (const LogitBias& bias : params.logit_bias) logits_[static_cast<std::size_t>(bias.token)] += bias.bias;
}

void Sampler::penalise(const SamplingParams& params, const SamplingContext& context) {
  const std::vector<TokenId>& tokens = *context.tokens;
  if (params.repetition_penalty != 1) {
    counts_.assign(logits_.size(), 0);
    for (const TokenId token : tokens) ++counts_[static_cast<std::size_t>(token)];
    for (std::size_t i = 0; i < logits_.size(); ++i) {
      if (counts_[i] == 0) continue;
      logits_[i] =
          logits_[i] > 0 ? logits_[i] / params.repetition_penalty : logits_[i] * params.repetition_penalty;
    }
  }
  if (params.frequency_penalty == 0 && params.presence_penalty == 0) return;
  counts_.assign(logits_.size(), 0);
  for (auto i = static_cast<std::size_t>(context.prompt); i < tokens.size(); ++i) {
    ++counts_[static_cast<std::size_t>(tokens[i])];
  }
  for (std::size_t i = 0; i < logits_.size(); ++i) {
    if (counts_[i] == 0) continue;
    logits_[i] -= params.frequency_penalty * static_cast<float>(counts_[i]) + params.presence_penalty;
  }
}

// The lowest id of equal ones.
TokenId Sampler::most_likely() const {
  return static_cast<TokenId>(std::max_element(logits_.begin(), logits_.end()) - logits_.begin());
}

TokenId Sampler::draw(const SamplingParams& params, const SamplingContext& context) {
  const float maximum = *std::max_element(logits_.begin(), logits_.end());
  CHECK_INVARIANT(maximum > kNever, context.position);
  kept_.clear();
  for (std::size_t i = 0; i < logits_.size(); ++i) {
    if (logits_[i] == kNever) continue;
    const double scaled = (static_cast<double>(logits_[i]) - static_cast<double>(maximum)) /
                          static_cast<double>(params.temperature);
    kept_.push_back({static_cast<TokenId>(i), logits_[i], det_exp(scaled)});
  }
  std::sort(kept_.begin(), kept_.end(), [](const Candidate& a, const Candidate& b) {
    return a.logit != b.logit ? a.logit > b.logit : a.token < b.token;
  });
  keep_min_p(params.min_p);
  if (params.top_k > 0 && static_cast<std::size_t>(params.top_k) < kept_.size()) {
    kept_.resize(static_cast<std::size_t>(params.top_k));
  }
  keep_top_p(params.top_p);
  double total = 0;
  for (const Candidate& one : kept_) total += one.probability;
  const double target = draw_unit({params.seed, Stream::kSampling, context.stream}, context.position) * total;
  double reached = 0;
  for (const Candidate& one : kept_) {
    reached += one.probability;
    if (reached > target) return one.token;
  }
  return kept_.back().token;
}

// Probabilities are in proportion to the most likely one's, which is 1.
void Sampler::keep_min_p(double min_p) {
  std::size_t count = kept_.size();
  while (count > 1 && kept_[count - 1].probability < min_p) --count;
  kept_.resize(count);
}

void Sampler::keep_top_p(double top_p) {
  if (top_p >= 1) return;
  double total = 0;
  for (const Candidate& one : kept_) total += one.probability;
  double reached = 0;
  std::size_t count = 0;
  while (count < kept_.size() && (count == 0 || reached < top_p * total))
    reached += kept_[count++].probability;
  kept_.resize(count);
}

}  // namespace servetwin
