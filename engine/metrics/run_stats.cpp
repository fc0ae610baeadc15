// Adding up groups of requests.
#include "engine/metrics/run_stats.h"

namespace servetwin {
namespace {

constexpr Samples GroupStats::*kSamples[] = {
    &GroupStats::ttft,           &GroupStats::tpot,          &GroupStats::itl,       &GroupStats::e2e,
    &GroupStats::queue,          &GroupStats::preempted,     &GroupStats::front_end, &GroupStats::prefill,
    &GroupStats::head_of_line,   &GroupStats::decode,        &GroupStats::inference, &GroupStats::waste,
    &GroupStats::prompt_lengths, &GroupStats::output_lengths};

constexpr Tokens GroupStats::*kTokens[] = {
    &GroupStats::good_outputs, &GroupStats::prompts,          &GroupStats::outputs,
    &GroupStats::all_outputs,  &GroupStats::admitted_prompts, &GroupStats::cached,
    &GroupStats::recomputed,   &GroupStats::waste_at_end,     &GroupStats::held_at_end};

}  // namespace

GroupStats::GroupStats(std::size_t exact_limit) {
  for (const auto member : kSamples) this->*member = Samples(exact_limit);
}

void GroupStats::merge(const GroupStats& other) {
  arrived += other.arrived;
  good += other.good;
  preemptions += other.preemptions;
  for (std::size_t i = 0; i < misses.size(); ++i) misses[i] += other.misses[i];
  for (std::size_t i = 0; i < ended.size(); ++i) ended[i] += other.ended[i];
  for (std::size_t i = 0; i < reasons.size(); ++i) reasons[i] += other.reasons[i];
  for (const auto member : kTokens) this->*member += other.*member;
  for (const auto member : kSamples) (this->*member).merge(other.*member);
}

}  // namespace servetwin
