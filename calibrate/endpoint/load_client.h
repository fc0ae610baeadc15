// Sends calls to a server at planned times and notes when each part of each answer came, by the monotonic
// clock.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "calibrate/endpoint/endpoint_address.h"
#include "engine/base/time.h"

namespace servetwin {

struct HttpCall {
  std::string path;
  std::string body;             // empty: GET, else POST of JSON
  std::size_t after_parts = 0;  // sent once each call that waits for nothing has had so many parts, or ended
};

struct BodyPart {
  Duration at{0};  // since the load began
  std::string bytes;
};

// An answer ends where its connection does, or with the stream's last event, data: [DONE].
enum class CallEnd { kComplete, kNotConnected, kCut, kTooLong, kTimedOut, kStopped };

struct HttpAnswer {
  CallEnd end = CallEnd::kStopped;
  int status = 0;       // 0: no head came
  int retry_after = 0;  // seconds that the server asks for
  Duration sent{0};     // connected, and about to be written
  Duration ended{0};
  std::vector<BodyPart> parts;  // of the body, without the framing of chunks

  std::string body() const;
  bool ok() const { return end == CallEnd::kComplete && status == 200; }
  // "status 429: too many …": why the answer is of no use; empty when it is complete and 200.
  std::string problem() const;
};

struct Load {
  std::vector<HttpCall> calls;
  std::string sampled_path;  // asked again and again while the calls last; empty: nothing is
  Duration sample_every{std::chrono::milliseconds(100)};
  Duration timeout{std::chrono::seconds(60)};  // of the whole load
};

struct LoadAnswers {
  std::vector<HttpAnswer> calls;  // in the order of the load's
  std::vector<HttpAnswer> samples;
};

class LoadClient {
 public:
  // `stop` may become true at any time; a load then ends at once.
  LoadClient(EndpointAddress address, std::string api_key, const volatile bool* stop);

  // One connection a call. What goes wrong is in the answers; throws ConfigError (CAL102) only for a host
  // whose name is not known.
  LoadAnswers run(const Load& load) const;
  HttpAnswer get(const std::string& path) const;
  HttpAnswer post(const std::string& path, const std::string& body, Duration timeout) const;

  const EndpointAddress& address() const { return address_; }
  bool stopped() const { return *stop_; }

 private:
  EndpointAddress address_;
  std::string api_key_;
  const volatile bool* stop_;
};

}  // namespace servetwin
