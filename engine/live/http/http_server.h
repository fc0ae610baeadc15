// Moves bytes between sockets and exchanges: one thread, many connections, limits and deadlines on all of
// them.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "engine/live/http/exchange.h"

namespace servetwin {

// What happened to one request, for a log.
struct AccessRecord {
  std::string method;
  std::string path;
  int status = 0;  // 0: the client left before there was one
  std::string request_id;
  std::string traceparent;
  std::chrono::nanoseconds duration{0};
  std::uint64_t bytes = 0;  // sent
  bool complete = false;    // the client was sent everything
  ExchangeFacts facts;
};

struct HttpServerOptions {
  std::string host = "127.0.0.1";  // an address, not a name
  std::uint16_t port = 8000;       // 0: any free one
  std::size_t max_connections = 4096;
  std::uint32_t max_header_bytes = 8 * 1024;
  std::uint64_t max_body_bytes = 4 * 1024 * 1024;
  std::chrono::milliseconds header_timeout{10'000};
  std::chrono::milliseconds body_timeout{60'000};
  std::chrono::milliseconds idle_timeout{75'000};    // between two requests
  std::chrono::milliseconds write_timeout{60'000};   // for a client that reads nothing at all
  std::function<void(const AccessRecord&)> on_done;  // on the server's thread
};

class HttpServer {
 public:
  // Listens from now on. Throws IoError when the address cannot be had. The handler must outlive it.
  HttpServer(HttpHandler& handler, HttpServerOptions options);
  // Gives up what is under way.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  std::uint16_t port() const;
  // Requests that have not been answered to the end.
  std::size_t num_open() const;

 private:
  class Connection;
  class Loop;

  std::unique_ptr<Loop> loop_;
};

// The trace id of a valid W3C traceparent header, or empty.
std::string trace_id_of(const std::string& traceparent);
// What a client sent as X-Request-Id, if it may go into a header and a log.
bool is_plain_id(const std::string& text);

}  // namespace servetwin
