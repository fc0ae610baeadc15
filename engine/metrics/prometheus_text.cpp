// Fills the client library's families and lets it write them.
#include "engine/metrics/prometheus_text.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>
#include <utility>

namespace servetwin {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

struct Bounds {
  std::vector<std::int64_t> values;  // in the unit of the samples
  double unit;                       // samples in one unit of the metric
};

template <std::size_t N>
Bounds seconds(const std::array<double, N>& bounds) {
  Bounds result{{}, 1e9};
  for (const double bound : bounds) result.values.push_back(to_ns(duration_from_seconds(bound)));
  return result;
}

Bounds tokens_up_to(Tokens limit) {
  Bounds result{{}, 1};
  for (std::int64_t decade = 1; decade <= limit.value; decade *= 10) {
    for (const std::int64_t digit : {1, 2, 5}) {
      if (digit * decade <= limit.value) result.values.push_back(digit * decade);
    }
  }
  return result;
}

class Families {
 public:
  explicit Families(std::string model_name) : model_name_(std::move(model_name)) {}

  // The family that later values go to.
  void start(const char* name, MetricType type, const char* help) {
    families_.push_back({std::string("vllm:") + name, help, type, {}});
  }

  ClientMetric& add(const std::string& engine) {
    ClientMetric metric;
    metric.label = {{"model_name", model_name_}, {"engine", engine}};
    families_.back().metric.push_back(std::move(metric));
    return families_.back().metric.back();
  }

  void counter(const char* name, const char* help, const std::string& engine, std::int64_t value) {
    start(name, MetricType::Counter, help);
    add(engine).counter.value = static_cast<double>(value);
  }

  void histogram(const char* name,
                 const char* help,
                 const std::string& engine,
                 const Samples& samples,
                 const Bounds& bounds) {
    start(name, MetricType::Histogram, help);
    auto& out = add(engine).histogram;
    const Moments moments = samples.moments();
    out.sample_count = static_cast<std::uint64_t>(moments.count);
    out.sample_sum = static_cast<double>(moments.sum) / bounds.unit;
    const std::vector<std::int64_t> totals = samples.cumulative(bounds.values);
    for (std::size_t i = 0; i < totals.size(); ++i) {
      const double bound = static_cast<double>(bounds.values[i]) / bounds.unit;
      out.bucket.push_back({static_cast<std::uint64_t>(totals[i]), bound});
    }
  }

  std::string text() const { return prometheus::TextSerializer().Serialize(families_); }

 private:
  std::string model_name_;
  std::vector<MetricFamily> families_;
};

std::string engine_of(std::size_t replica) { return std::to_string(replica); }

template <class Value>
void per_replica(Families& out, const Recorder& recorder, Value value) {
  for (std::size_t i = 0; i < recorder.replicas().size(); ++i)
    value(out.add(engine_of(i)), recorder.replicas()[i]);
}

void add_step_sizes(Families& out, const Recorder& recorder) {
  // The recorder counts by powers of two; vLLM's bounds are 1 and those from 8 to 16384.
  constexpr std::array<std::size_t, 13> kPowers = {0, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14};
  out.start("iteration_tokens_total", MetricType::Histogram, "Tokens of a step.");
  per_replica(out, recorder, [&](ClientMetric& metric, const ReplicaStats& r) {
    metric.histogram.sample_count = static_cast<std::uint64_t>(r.steps);
    metric.histogram.sample_sum = static_cast<double>(r.tokens);
    for (const std::size_t power : kPowers) {
      std::int64_t below = 0;
      for (std::size_t i = 0; i <= power; ++i) below += r.steps_by_tokens[i];
      metric.histogram.bucket.push_back(
          {static_cast<std::uint64_t>(below), static_cast<double>(std::int64_t{1} << power)});
    }
  });
}

void add_replicas(Families& out, const Recorder& recorder, const ServerLabels& labels) {
  out.start("num_requests_running", MetricType::Gauge, "Requests in execution.");
  per_replica(out, recorder, [](ClientMetric& metric, const ReplicaStats& r) {
    metric.gauge.value = static_cast<double>(r.running);
  });
  out.start("num_requests_waiting", MetricType::Gauge, "Requests waiting to be processed.");
  per_replica(out, recorder, [](ClientMetric& metric, const ReplicaStats& r) {
    metric.gauge.value = static_cast<double>(r.waiting);
  });
  out.start("kv_cache_usage_perc", MetricType::Gauge, "KV-cache usage, 1 means all of it.");
  per_replica(out, recorder, [](ClientMetric& metric, const ReplicaStats& r) {
    metric.gauge.value =
        r.capacity_blocks > 0 ? static_cast<double>(r.used) / static_cast<double>(r.capacity_blocks) : 0;
  });
  out.start("num_preemptions_total", MetricType::Counter, "Preemptions.");
  per_replica(out, recorder, [](ClientMetric& metric, const ReplicaStats& r) {
    metric.counter.value = static_cast<double>(r.preemptions);
  });
  out.start("cache_config_info", MetricType::Gauge, "Settings of the KV cache.");
  per_replica(out, recorder, [&](ClientMetric& metric, const ReplicaStats& r) {
    metric.label.push_back({"block_size", std::to_string(labels.block_size.value)});
    metric.label.push_back({"num_gpu_blocks", std::to_string(r.capacity_blocks + 1)});
    metric.gauge.value = 1;
  });
  add_step_sizes(out, recorder);
}

void add_successes(Families& out, const std::string& engine, const GroupStats& all) {
  const auto count = [&](EndState state) { return all.ended[static_cast<std::size_t>(state)]; };
  const std::pair<const char*, std::int64_t> reasons[] = {
      {"stop", count(EndState::kStop)},
      {"length", count(EndState::kLength)},
      {"abort", count(EndState::kCancelled) + count(EndState::kTimedOut)},
      {"error", count(EndState::kFailed)}};
  out.start("request_success_total", MetricType::Counter, "Requests that ended after they were accepted.");
  for (const auto& [reason, value] : reasons) {
    ClientMetric& metric = out.add(engine);
    metric.label.push_back({"finished_reason", reason});
    metric.counter.value = static_cast<double>(value);
  }
}

void add_requests(Families& out,
                  const std::string& engine,
                  const GroupStats& all,
                  const ServerLabels& labels) {
  out.counter("prompt_tokens_total", "Prompt tokens of finished requests.", engine, all.prompts.value);
  out.counter("generation_tokens_total", "Generated tokens.", engine, all.all_outputs.value);
  out.counter("prefix_cache_queries_total", "Prompt tokens looked up in the prefix cache.", engine,
              all.admitted_prompts.value);
  out.counter("prefix_cache_hits_total", "Prompt tokens found in the prefix cache.", engine,
              all.cached.value);
  add_successes(out, engine, all);
  const Bounds token_time = seconds(kTokenTimeBounds);
  const Bounds request_time = seconds(kRequestTimeBounds);
  const Bounds tokens = tokens_up_to(labels.max_model_len);
  out.histogram("time_to_first_token_seconds", "Arrival to first token.", engine, all.ttft,
                seconds(kTtftBounds));
  out.histogram("inter_token_latency_seconds", "Gaps between tokens.", engine, all.itl, token_time);
  out.histogram("request_time_per_output_token_seconds", "Mean gap of a request.", engine, all.tpot,
                token_time);
  out.histogram("e2e_request_latency_seconds", "Arrival to last token.", engine, all.e2e, request_time);
  out.histogram("request_queue_time_seconds", "Ready to first scheduled.", engine, all.queue, request_time);
  out.histogram("request_inference_time_seconds", "First scheduled to last token.", engine, all.inference,
                request_time);
  out.histogram("request_prefill_time_seconds", "First scheduled to first token.", engine, all.prefill,
                request_time);
  out.histogram("request_decode_time_seconds", "First token to last token.", engine, all.decode,
                request_time);
  out.histogram("request_prompt_tokens", "Prompt tokens of a request.", engine, all.prompt_lengths, tokens);
  out.histogram("request_generation_tokens", "Output tokens of a request.", engine, all.output_lengths,
                tokens);
}

}  // namespace

std::string prometheus_text(const Recorder& recorder, const ServerLabels& labels) {
  Families out(labels.model_name);
  add_replicas(out, recorder, labels);
  GroupStats all(recorder.options().exact_limit);
  for (const GroupStats& group : recorder.groups()) all.merge(group);
  add_requests(out, recorder.replicas().size() == 1 ? "0" : "all", all, labels);
  return out.text();
}

}  // namespace servetwin
