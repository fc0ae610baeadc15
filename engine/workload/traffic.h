// Draws what the requests of one traffic class are like and how their clients behave.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/samplers.h"
#include "engine/workload/length_distribution.h"
#include "engine/workload/length_tables.h"
#include "engine/workload/source.h"
#include "engine/workload/traffic_spec.h"

namespace servetwin {

// Who draws: every draw is a function of (seed, what for, conversation, turn, slot), so that no draw shifts
// another.
struct DrawSite {
  std::uint64_t seed = 0;
  std::uint64_t session = 0;  // the request's own number where it is no conversation
  std::uint32_t turn = 0;

  StreamKey key(Stream stream) const { return {seed, stream, session}; }
  // `slot` counts the draws of one turn in one stream.
  std::uint32_t index(std::uint32_t slot = 0) const { return turn * 4 + slot; }
  double unit(Stream stream, std::uint32_t slot = 0) const { return draw_unit(key(stream), index(slot)); }
  DrawSite first_turn() const { return {seed, session, 0}; }
};

Duration sample_duration(const DurationSpec& spec,
                         const DrawSite& site,
                         Stream stream,
                         std::uint32_t slot = 0);

// Throws ConfigError; a plain number is a constant length.
std::unique_ptr<LengthDistribution> make_length(const ConfigNode& node);

// What clients ask for, which is all the engine knows of an answer's length.
class MaxTokensRule {
 public:
  static constexpr Tokens kDefault{4096};

  explicit MaxTokensRule(const ConfigNode& node);
  Tokens max_tokens(const DrawSite& site, Tokens output) const;
  // Whether it tells the engine the true length.
  bool is_oracle() const { return multiple_ == 1; }

 private:
  Tokens fixed_ = kDefault;
  double multiple_ = 0;  // of the output; 0: not so
  std::unique_ptr<LengthDistribution> drawn_;
};

struct SharedPrefix {
  std::uint64_t stream = 0;
  Tokens tokens{};
};

class Traffic {
 public:
  // `spec` is complete (TrafficSpec::over); `prefix_owner` tells apart the prefix groups of different
  // classes, and is equal for classes that share them.
  Traffic(const TrafficSpec& spec, ClassId id, std::uint32_t prefix_owner, std::uint64_t seed);

  // Lengths of the new text of a turn and of its answer. Only where has_lengths().
  LengthPair lengths(const DrawSite& site) const;
  bool has_lengths() const { return joint_ || input_; }
  bool has_sessions() const { return turns_ != nullptr; }
  std::uint32_t turns(const DrawSite& site) const;
  Duration think_time(const DrawSite& site) const;
  std::optional<SharedPrefix> shared_prefix(const DrawSite& site) const;

  // Everything that is not length, content or arrival. `item.truth.output` and `item.spec.session` are set
  // before.
  void fill(const DrawSite& site, WorkloadItem& item) const;
  // Of a request whose tenant and session are settled.
  std::uint64_t cache_salt(const DrawSite& site, const RequestSpec& spec) const;

  bool uses_oracle() const { return max_tokens_.is_oracle(); }
  const std::string& describe() const { return description_; }

 private:
  void read_lengths(const ConfigNode& node);
  void fill_client(const DrawSite& site, RequestTruth& truth) const;

  TrafficSpec spec_;
  ClassId id_;
  std::uint32_t prefix_owner_;
  MaxTokensRule max_tokens_;
  std::optional<JointLengths> joint_;
  std::unique_ptr<LengthDistribution> input_;
  std::unique_ptr<LengthDistribution> output_;
  std::unique_ptr<LengthDistribution> turns_;
  std::optional<WeightedChoice> tenants_;
  std::optional<WeightedChoice> adapters_;
  std::optional<WeightedChoice> groups_;
  std::vector<Tokens> group_tokens_;
  std::string description_;
};

}  // namespace servetwin
