// Counter-based random numbers: every draw is a pure function of (seed, stream, entity, index).
// One more draw in one place therefore never shifts a draw anywhere else.
#pragma once

#include <cstdint>

namespace servetwin {

// What a draw is for. Values are part of the results: append, never renumber.
enum class Stream : std::uint16_t {
  kArrivals = 1,         // gaps between requests, or thinning of them
  kInputLengths = 2,     // prompt tokens
  kOutputLengths = 3,    // generated tokens
  kSessions = 4,         // turns of a conversation
  kClasses = 5,          // which traffic class a request belongs to
  kPrefixGroups = 6,     // which shared prefix a prompt starts with
  kCancellations = 7,    // whether and when a client gives up
  kResiduals = 8,        // noise of a measured cost model
  kRouting = 9,          // random choices of a router
  kPrefixLengths = 10,   // tokens of a shared prefix
  kThinkTimes = 11,      // pause of a user between turns
  kTenants = 12,         // which tenant sends a request
  kAdapters = 13,        // which adapter a request asks for
  kTokenIds = 14,        // contents of synthetic prompts
  kDeadlines = 15,       // service objectives drawn per request
  kFailures = 16,        // faults of replicas and links
  kAcceptance = 17,      // accepted tokens of speculative decoding
  kExperts = 18,         // tokens per expert
  kNetwork = 19,         // jitter of links
  kResampling = 20,      // bootstrap intervals of reports
  kRetries = 21,         // back-off of a client
  kRateModulation = 22,  // state changes of a bursty arrival process
  kSlowReaders = 23,     // which clients read slowly
  kMaxTokens = 24,       // the limit a client asks for
  kWeights = 25,         // random weights of a model
  kSampling = 26,        // which token is chosen
  kPredictions = 27,     // errors of predicted output lengths
  kTest = 0xfffe,        // tests only
};

// A sequence of draws: one per thing that draws (a request, a session, a replica), counted by `entity`.
struct StreamKey {
  std::uint64_t seed = 0;
  Stream stream = Stream::kTest;
  std::uint64_t entity = 0;
};

// 64 uniform bits: Philox4x32-10 with key = seed and counter = (entity, index, attempt | stream << 16).
// `attempt` numbers the tries of a rejection sampler inside one draw; everybody else leaves it at 0.
std::uint64_t draw_u64(const StreamKey& key, std::uint32_t index, std::uint16_t attempt = 0);

// The odd multiples of 2^-53: uniform on the open interval (0, 1), symmetric about 1/2, built without
// rounding.
double draw_unit(const StreamKey& key, std::uint32_t index, std::uint16_t attempt = 0);

}  // namespace servetwin
