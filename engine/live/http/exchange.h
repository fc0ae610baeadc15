// One request and its response, as the server that moves bytes sees them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace servetwin {

struct HttpRequest {
  std::string method;
  std::string path;  // without the query
  std::string authorization;
  std::string content_type;
  std::string request_id;   // X-Request-Id
  std::string traceparent;  // of the W3C trace context
  std::string body;
};

struct HttpHead {
  int status = 200;
  std::string content_type = "application/json";
  std::vector<std::pair<std::string, std::string>> headers{};
  bool streamed = false;  // the length is not known yet
};

// What can be sent now; all parts of a response together are one head and a body.
struct HttpPart {
  std::optional<HttpHead> head;  // with the first part
  std::string body;
  bool last = false;

  bool empty() const { return !head && body.empty() && !last; }
};

// What the log says beyond the transfer itself. Negative: not known.
struct ExchangeFacts {
  std::int64_t prompt_tokens = -1;
  std::int64_t completion_tokens = -1;
  std::string finish_reason;
};

// Destroying it gives the request up, if it has not ended.
class HttpExchange {
 public:
  virtual ~HttpExchange() = default;
  // An empty part when there is nothing yet; then `wake` announces more. Not to be called after the last
  // one. The head of a part that is not the last says `streamed`.
  virtual HttpPart poll() = 0;
  virtual ExchangeFacts facts() const { return {}; }
};

class HttpHandler {
 public:
  virtual ~HttpHandler() = default;
  // `wake` may be called from any thread until the exchange is destroyed.
  virtual std::unique_ptr<HttpExchange> start(const HttpRequest& request, std::function<void()> wake) = 0;
  // For what is no request: a body in the handler's format.
  virtual std::string error_body(int status, const std::string& message) const = 0;
};

// A response that is complete from the beginning.
class ReadyExchange final : public HttpExchange {
 public:
  ReadyExchange(HttpHead head, std::string body) : head_(std::move(head)), body_(std::move(body)) {}
  HttpPart poll() override { return {std::move(head_), std::move(body_), true}; }

 private:
  HttpHead head_;
  std::string body_;
};

}  // namespace servetwin
