// The library writes; here is only what goes where.
#include "engine/live/http/http_bytes.h"

#include <boost/asio/buffer.hpp>
#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/http.hpp>
#include <utility>

namespace servetwin {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;

template <class Body>
std::string written(http::response<Body>& response, bool head_only) {
  http::response_serializer<Body> serializer(response);
  serializer.split(head_only);
  std::string out;
  boost::system::error_code failed;
  while (!failed && !(head_only ? serializer.is_header_done() : serializer.is_done())) {
    serializer.next(failed, [&](boost::system::error_code& result, const auto& buffers) {
      result = {};
      out += beast::buffers_to_string(buffers);
      serializer.consume(beast::buffer_bytes(buffers));
    });
  }
  return out;
}

template <class Body>
std::string head_bytes(const HttpHead& head, const HttpFraming& framing, typename Body::value_type body) {
  http::response<Body> response{http::int_to_status(static_cast<unsigned>(head.status)), framing.version,
                                std::move(body)};
  response.set(http::field::content_type, head.content_type);
  for (const auto& [name, value] : head.headers) response.set(name, value);
  response.set("X-Request-Id", framing.request_id);
  if (!framing.traceparent.empty()) response.set("traceparent", framing.traceparent);
  response.keep_alive(framing.keep_alive);
  if (!head.streamed) response.prepare_payload();
  if (framing.chunked) response.chunked(true);
  return written(response, head.streamed);
}

}  // namespace

std::string bytes_of(const HttpPart& part, const HttpFraming& framing) {
  if (part.head && !part.head->streamed) return head_bytes<http::string_body>(*part.head, framing, part.body);
  std::string out;
  if (part.head) out = head_bytes<http::empty_body>(*part.head, framing, {});
  if (!framing.chunked) return out + part.body;
  if (!part.body.empty()) {
    out += beast::buffers_to_string(http::make_chunk(boost::asio::buffer(part.body)));
  }
  if (part.last) out += beast::buffers_to_string(http::make_chunk_last());
  return out;
}

}  // namespace servetwin
