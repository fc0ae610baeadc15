// The parts of a response as HTTP/1.1 writes them: head, length or chunks.
#pragma once

#include <string>

#include "engine/live/http/exchange.h"

namespace servetwin {

// How one response is sent.
struct HttpFraming {
  unsigned version = 11;  // 10 and 11
  bool keep_alive = true;
  bool chunked = false;  // a body of unknown length, to a client that knows chunks
  std::string request_id;
  std::string traceparent;  // empty: none
};

std::string bytes_of(const HttpPart& part, const HttpFraming& framing);

}  // namespace servetwin
