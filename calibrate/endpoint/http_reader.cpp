// Boost.Beast's parser, fed by hand.
#include "calibrate/endpoint/http_reader.h"

#include <boost/beast/http.hpp>
#include <cstdint>

#include "engine/base/unit_text.h"

namespace servetwin {

namespace http = boost::beast::http;

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 40U;  // as good as none, which Beast 1.74 mistakes

struct HttpReader::State {
  http::response_parser<http::string_body> parser;
  std::string pending;
};

HttpReader::HttpReader() : state_(std::make_unique<State>()) {
  state_->parser.eager(true);
  state_->parser.body_limit(kMostBytes);
}
HttpReader::~HttpReader() = default;
HttpReader::HttpReader(HttpReader&&) noexcept = default;
HttpReader& HttpReader::operator=(HttpReader&&) noexcept = default;

bool HttpReader::put(std::string_view bytes, std::string& body) {
  auto& parser = state_->parser;
  state_->pending += bytes;
  boost::beast::error_code error;
  while (!state_->pending.empty() && !parser.is_done()) {
    const std::size_t taken = parser.put(boost::asio::buffer(state_->pending), error);
    state_->pending.erase(0, taken);
    if (error == http::error::need_more || taken == 0) break;
    if (error) return false;
  }
  body = std::move(parser.get().body());
  parser.get().body().clear();
  return !error || error == http::error::need_more;
}

bool HttpReader::put_end() {
  boost::beast::error_code error;
  if (state_->parser.got_some()) state_->parser.put_eof(error);
  return !error && state_->parser.is_done();
}

bool HttpReader::is_done() const { return state_->parser.is_done(); }

int HttpReader::status() const {
  return state_->parser.is_header_done() ? static_cast<int>(state_->parser.get().result_int()) : 0;
}

int HttpReader::retry_after() const {
  if (!state_->parser.is_header_done()) return 0;
  const auto text = state_->parser.get()[http::field::retry_after];
  const auto seconds = parse_integer(std::string_view(text.data(), text.size()));
  return seconds && *seconds.value > 0 && *seconds.value < 600 ? static_cast<int>(*seconds.value) : 0;
}

}  // namespace servetwin
