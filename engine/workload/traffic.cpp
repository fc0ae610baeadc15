// The draws of a traffic class, each in its own stream.
#include "engine/workload/traffic.h"

#include <algorithm>

#include "engine/base/flat_map.h"
#include "engine/base/unit_text.h"
#include "engine/workload/content_streams.h"
#include "engine/workload/horizon.h"
#include "engine/workload/plugin_choice.h"

namespace servetwin {
namespace {

struct LengthsSpec {
  std::optional<std::string> table;
  ConfigNode input;
  ConfigNode output;

  template <class Visitor>
  void fields(Visitor& v) {
    v("table", table, "Built-in joint table of recorded traffic.");
    v("input", input, "Distribution of the prompt.");
    v("output", output, "Distribution of the answer.");
  }
  std::string problem() const {
    const bool drawn = !input.is_null() && !output.is_null();
    const bool any = !input.is_null() || !output.is_null();
    return (table && !any) || (!table && drawn) ? "" : "give input and output, or table";
  }
};

struct MaxTokensMap {
  std::optional<Tokens> fixed;
  std::optional<double> multiple_of_output;

  template <class Visitor>
  void fields(Visitor& v) {
    v("fixed", fixed, "The same for every request.", Range{Tokens{1}, Tokens{100'000'000}});
    v("multiple_of_output", multiple_of_output, "This many times the true answer, rounded up.",
      Range{1.0, 1e6});
  }
  std::string problem() const {
    return fixed.has_value() != multiple_of_output.has_value()
               ? ""
               : "give fixed, multiple_of_output or a distribution";
  }
};

WeightedChoice choice_of(const MixSpec& mix) {
  return WeightedChoice(mix.weights.empty() ? zipf_weights(static_cast<std::size_t>(mix.count), mix.zipf)
                                            : mix.weights);
}

const LengthFigures& figures_of(const ConfigNode& node, const std::string& name) {
  std::vector<std::string> names;
  for (const LengthFigures& figures : length_figures()) {
    if (figures.name == name) return figures;
    names.push_back(figures.name);
  }
  throw ConfigError(unknown_name_problem(node, name, names));
}

std::string name_of_length(const ConfigNode& node) {
  const ConfigNode* name = node.find("distribution");
  return name != nullptr ? name->text : node.text;
}

}  // namespace

Duration sample_duration(const DurationSpec& spec, const DrawSite& site, Stream stream, std::uint32_t slot) {
  if (spec.cv == 0 || spec.mean == Duration{0}) return spec.mean;
  const double variance = spec.cv * spec.cv;
  const double scale = to_seconds(spec.mean) * variance;
  return span_of_seconds(sample_gamma(site.key(stream), site.index(slot), 1 / variance, scale));
}

std::unique_ptr<LengthDistribution> make_length(const ConfigNode& node) {
  const std::string example = "{distribution: constant, value: 512}, or 512";
  if (!node.is_scalar() || !parse_integer(node.text)) {
    return make_choice<LengthDistribution>(node, "distribution", example);
  }
  ConfigNode params;
  params.kind = ConfigNode::Kind::kMap;
  params.place = node.place;
  params.path = node.path;
  params.entries.emplace_back("value", node);
  return Registry<LengthDistribution>::instance().make("constant", params);
}

MaxTokensRule::MaxTokensRule(const ConfigNode& node) {
  if (node.is_null()) return;
  if (node.is_scalar() && node.text == "output") {
    multiple_ = 1;
  } else if (node.is_map() && node.find("distribution") == nullptr) {
    const auto params = read_params<MaxTokensMap>(node);
    fixed_ = params.fixed.value_or(kDefault);
    multiple_ = params.multiple_of_output.value_or(0);
  } else {
    drawn_ = make_length(node);
  }
}

Tokens MaxTokensRule::max_tokens(const DrawSite& site, Tokens output) const {
  if (drawn_) return drawn_->quantile(site.unit(Stream::kMaxTokens));
  if (multiple_ == 0) return fixed_;
  const double product = multiple_ * static_cast<double>(output.value);
  const auto whole = static_cast<std::int64_t>(product);
  return Tokens{static_cast<double>(whole) < product ? whole + 1 : whole};
}

Traffic::Traffic(const TrafficSpec& spec, ClassId id, std::uint32_t prefix_owner, std::uint64_t seed)
    : spec_(spec), id_(id), prefix_owner_(prefix_owner), max_tokens_(spec.max_tokens) {
  if (!spec.lengths.is_null()) read_lengths(spec.lengths);
  if (spec.sessions) turns_ = make_length(spec.sessions->turns);
  if (spec.tenants) tenants_ = choice_of(*spec.tenants);
  if (spec.adapters) adapters_ = choice_of(spec.adapters->mix);
  if (!spec.shared_prefix) return;
  groups_ = choice_of(spec.shared_prefix->groups);
  const auto length = make_length(spec.shared_prefix->tokens);
  for (std::size_t group = 0; group < groups_->size(); ++group) {
    const DrawSite site{seed, group_stream(prefix_owner, group), 0};
    group_tokens_.push_back(length->quantile(site.unit(Stream::kPrefixLengths)));
  }
}

void Traffic::read_lengths(const ConfigNode& node) {
  const auto params = read_params<LengthsSpec>(node);
  if (params.table) {
    const LengthFigures& figures = figures_of(node, *params.table);
    joint_ = JointLengths(figures);
    description_ = figures.name + " (" + figures.source + ")";
    return;
  }
  input_ = make_length(params.input);
  output_ = make_length(params.output);
  description_ = "input " + name_of_length(params.input) + ", output " + name_of_length(params.output);
}

LengthPair Traffic::lengths(const DrawSite& site) const {
  const double input = site.unit(Stream::kInputLengths);
  const double output = site.unit(Stream::kOutputLengths);
  if (joint_) return joint_->quantile(input, output);
  return {input_->quantile(input), output_->quantile(output)};
}

std::uint32_t Traffic::turns(const DrawSite& site) const {
  if (!turns_) return 1;
  constexpr std::int64_t kMaxTurns = 1'000'000;
  const Tokens drawn = turns_->quantile(site.first_turn().unit(Stream::kSessions));
  return static_cast<std::uint32_t>(std::min(drawn.value, kMaxTurns));
}

Duration Traffic::think_time(const DrawSite& site) const {
  return spec_.sessions ? sample_duration(spec_.sessions->think_time, site, Stream::kThinkTimes)
                        : Duration{0};
}

std::optional<SharedPrefix> Traffic::shared_prefix(const DrawSite& site) const {
  if (!groups_) return std::nullopt;
  const DrawSite first = site.first_turn();
  if (first.unit(Stream::kPrefixGroups, 1) >= spec_.shared_prefix->share) return std::nullopt;
  const std::size_t group = groups_->sample(first.key(Stream::kPrefixGroups), 0);
  return SharedPrefix{group_stream(prefix_owner_, group), group_tokens_[group]};
}

void Traffic::fill(const DrawSite& site, WorkloadItem& item) const {
  const DrawSite first = site.first_turn();
  RequestSpec& spec = item.spec;
  spec.traffic_class = id_;
  spec.stat_group = static_cast<std::uint8_t>(id_);
  spec.priority = spec_.priority.value_or(0);
  spec.tenant = TenantId{0};
  if (tenants_)
    spec.tenant = TenantId{static_cast<std::uint16_t>(tenants_->sample(first.key(Stream::kTenants), 0))};
  spec.adapter = kNoAdapter;
  if (adapters_ && first.unit(Stream::kAdapters, 1) >= spec_.adapters->base_share) {
    spec.adapter =
        AdapterId{static_cast<std::uint16_t>(adapters_->sample(first.key(Stream::kAdapters), 0) + 1)};
  }
  spec.waits_for = WaitsFor::kNothing;
  spec.cache_salt = cache_salt(site, spec);
  spec.max_tokens = max_tokens_.max_tokens(site, item.truth.output);
  fill_client(site, item.truth);
}

std::uint64_t Traffic::cache_salt(const DrawSite& site, const RequestSpec& spec) const {
  constexpr std::uint64_t kSessionSalts = std::uint64_t{1} << 48;
  constexpr std::uint64_t kRequestSalts = std::uint64_t{1} << 49;
  const std::uint64_t of_request = hash_of(kRequestSalts + site.session) + site.turn;
  switch (spec_.cache_salt.value_or(SaltScope::kNone)) {
    case SaltScope::kNone:
      return 0;
    case SaltScope::kTenant:
      return std::uint64_t{1} + raw(spec.tenant);
    case SaltScope::kSession:
      return spec.session == kNoSession ? of_request : kSessionSalts + raw(spec.session);
    case SaltScope::kRequest:
      return of_request;
  }
  return 0;
}

void Traffic::fill_client(const DrawSite& site, RequestTruth& truth) const {
  const Tokens output = truth.output;
  truth = RequestTruth{};
  truth.output = output;
  const auto& cancel = spec_.cancellations;
  if (cancel && site.unit(Stream::kCancellations) < cancel->share) {
    truth.cancel_after =
        std::max(Duration{1}, sample_duration(cancel->after, site, Stream::kCancellations, 1));
  }
  const auto& timeouts = spec_.timeouts;
  if (timeouts && site.unit(Stream::kDeadlines) < timeouts->share) {
    truth.deadline = timeouts->total.value_or(Duration{-1});
    truth.queue_timeout = timeouts->queue.value_or(Duration{-1});
    truth.ttft_timeout = timeouts->first_token.value_or(Duration{-1});
  }
  const auto& readers = spec_.slow_readers;
  if (readers && site.unit(Stream::kSlowReaders) < readers->share) {
    truth.reader_bytes_per_s = readers->rate.value;
    truth.reader_window = readers->window;
  }
}

}  // namespace servetwin
