// The server that is calibrated: what it says of itself, how it wants to be asked, what its answers say.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/endpoint/dialect.h"
#include "calibrate/endpoint/event_stream.h"
#include "calibrate/endpoint/server_metrics.h"

namespace servetwin {

struct EndpointOptions {
  std::string model;  // empty: the only one that it serves
  std::string api_key;
  std::uint64_t salt = 1;  // of prompts; never the same twice
  Duration answer_timeout{std::chrono::seconds(120)};
  const volatile bool* stop = nullptr;
};

// Prompt and answer of one call.
struct AskedLengths {
  std::int64_t prompt = 0;
  std::int64_t output = 0;
  std::size_t after_parts = 0;  // as HttpCall
};

struct AnsweredLoad {
  std::vector<TimedAnswer> answers;
  std::vector<std::pair<HttpAnswer, ServerMetrics>> samples;  // while it lasted
  int retry_after = 0;                                        // seconds, where one was refused for now
};

class EndpointServer {
 public:
  // Asks for models, version and metrics, and finds out by a few short calls which fields it takes and how
  // long a word is. Throws ConfigError (CAL102) with what it answered where it cannot be measured.
  EndpointServer(const EndpointAddress& address, const EndpointOptions& options);

  AnsweredLoad ask(const std::vector<AskedLengths>& lengths, bool samples_metrics = false);
  // No load lasts longer from now on.
  void limit(Duration time) { limit_ = time; }
  std::optional<ServerMetrics> metrics() const;

  const EndpointAddress& address() const { return client_.address(); }
  const Dialect& dialect() const { return dialect_; }
  const std::string& version() const { return version_; }
  std::optional<std::int64_t> max_model_len() const { return max_model_len_; }
  bool has_metrics() const { return has_metrics_; }
  bool stopped() const { return client_.stopped(); }

 private:
  void read_models(const std::string& wanted);
  void read_version();
  void negotiate();
  void measure_words();
  TimedAnswer ask_one(const AskedLengths& lengths);

  LoadClient client_;
  EndpointOptions options_;
  Dialect dialect_;
  std::string version_ = "unknown";
  std::optional<std::int64_t> max_model_len_;
  bool has_metrics_ = false;
  std::uint64_t next_call_ = 0;
  Duration limit_ = Duration::max();
};

}  // namespace servetwin
