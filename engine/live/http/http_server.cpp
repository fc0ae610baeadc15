// The only file that knows sockets. A connection lives in one table until nothing asynchronous refers to it.
#include "engine/live/http/http_server.h"

#include <algorithm>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <exception>
#include <map>
#include <optional>
#include <thread>
#include <utility>

#include "engine/base/error.h"
#include "engine/live/http/http_bytes.h"
#include "kernels/thread_place.h"

namespace servetwin {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using boost::system::error_code;
using tcp = asio::ip::tcp;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kSweepEvery{50};
constexpr std::chrono::milliseconds kLinger{2000};  // for a client that still sends when it is refused
constexpr std::size_t kReadAhead = std::size_t{64} * 1024;  // of a client that does not wait for its answer
constexpr std::size_t kReadSize = 4096;

// The status for what is no request; nothing for a client that went away.
std::optional<int> status_of(const error_code& failed) {
  if (failed.category() != http::make_error_code(http::error::bad_method).category()) return std::nullopt;
  if (failed == http::error::end_of_stream || failed == http::error::partial_message) return std::nullopt;
  if (failed == http::error::header_limit || failed == http::error::buffer_overflow) return 431;
  if (failed == http::error::body_limit) return 413;
  return 400;
}

std::string text_of(const http::fields& fields, const char* name) { return std::string(fields[name]); }

}  // namespace

class HttpServer::Loop {
 public:
  Loop(HttpHandler& handler, HttpServerOptions options);
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  std::uint16_t port() const { return port_; }
  std::size_t num_open() const { return num_open_; }

 private:
  friend class HttpServer::Connection;

  void accept();
  void add(tcp::socket socket);
  void sweep();
  void wake(std::uint64_t id);
  void reap(const Connection& connection);

  HttpHandler& handler_;
  HttpServerOptions options_;
  asio::io_context io_{1};
  tcp::acceptor acceptor_{io_};
  asio::steady_timer timer_{io_};
  bool accepting_ = false;
  std::map<std::uint64_t, std::unique_ptr<Connection>> connections_;
  std::uint64_t next_id_ = 0;
  std::uint16_t port_ = 0;
  std::atomic<std::size_t> num_open_{0};
  std::thread thread_;
};

// Reads a request, lets its exchange answer, reads the next one. While an answer is under way it goes on
// reading, so that a client that leaves is noticed at once.
class HttpServer::Connection {
 private:
  using Then = void (Connection::*)(error_code, std::size_t);

  // What an operation calls when it ends; it keeps the connection until then.
  struct Guarded {
    Connection* connection;
    Then then;
    void operator()(error_code failed, std::size_t size) const { connection->resume(then, failed, size); }
  };
  Guarded guarded(Then then) {
    ++pending_;
    return {this, then};
  }
  // Nothing that goes wrong with one connection may reach another.
  void resume(Then then, error_code failed, std::size_t size) {
    --pending_;
    try {
      if (!closed_) (this->*then)(failed, size);
    } catch (const std::exception&) {
      close();
    }
    loop_.reap(*this);
  }

 public:
  Connection(Loop& loop, std::uint64_t id, tcp::socket socket)
      : loop_(loop),
        id_(id),
        socket_(std::move(socket)),
        buffer_(limits().max_header_bytes + 2 * kReadAhead) {}

  std::uint64_t id() const { return id_; }
  bool finished() const { return closed_ && pending_ == 0; }

  void read_request() {
    answered_ = false;
    parser_.emplace();
    parser_->header_limit(limits().max_header_bytes);
    parser_->body_limit(limits().max_body_bytes);
    expect_within(num_requests_++ == 0 ? limits().header_timeout : limits().idle_timeout);
    http::async_read_header(socket_, buffer_, *parser_, guarded(&Connection::on_header));
  }

  // Sends what the exchange has, one part at a time.
  void pump() {
    if (closed_ || writing_ || !exchange_) return;
    deadline_ = Clock::time_point::max();
    const HttpPart part = exchange_->poll();
    if (part.empty()) return;
    if (part.head) {
      access_.status = part.head->status;
      framing_.chunked = part.head->streamed && framing_.version >= 11;
      if (part.head->streamed && !framing_.chunked) framing_.keep_alive = false;
    }
    out_ = bytes_of(part, framing_);
    last_ = part.last;
    writing_ = true;
    expect_within(limits().write_timeout);
    asio::async_write(socket_, asio::buffer(out_), guarded(&Connection::on_written));
  }

  void check_deadline(Clock::time_point now) {
    if (now >= deadline_) close();
  }

  void close() {
    if (closed_) return;
    closed_ = true;
    end_exchange(false);
    error_code ignored;
    socket_.close(ignored);
  }

 private:
  const HttpServerOptions& limits() const { return loop_.options_; }
  void expect_within(std::chrono::milliseconds time) { deadline_ = Clock::now() + time; }

  void on_header(error_code failed, std::size_t /*size*/) {
    if (failed) return refuse(failed);
    expect_within(limits().body_timeout);
    if (beast::iequals(parser_->get()[http::field::expect], "100-continue")) {
      static const std::string kGoOn = "HTTP/1.1 100 Continue\r\n\r\n";
      asio::async_write(socket_, asio::buffer(kGoOn), guarded(&Connection::on_told_to_go_on));
      return;
    }
    read_body();
  }

  void on_told_to_go_on(error_code failed, std::size_t /*size*/) { failed ? close() : read_body(); }
  void read_body() { http::async_read(socket_, buffer_, *parser_, guarded(&Connection::on_body)); }

  void on_body(error_code failed, std::size_t /*size*/) {
    if (failed) return refuse(failed);
    auto& message = parser_->get();
    framing_.keep_alive = message.keep_alive() && message.method() != http::verb::head;
    framing_.version = message.version();
    HttpRequest request;
    request.method = std::string(message.method_string());
    const std::string target(message.target());
    request.path = target.substr(0, target.find('?'));
    request.authorization = text_of(message, "Authorization");
    request.content_type = text_of(message, "Content-Type");
    request.request_id = text_of(message, "X-Request-Id");
    request.traceparent = text_of(message, "traceparent");
    request.body = std::move(message.body());
    begin(request, [&] {
      return loop_.handler_.start(
          request, [loop = &loop_, id = id_] { asio::post(loop->io_, [loop, id] { loop->wake(id); }); });
    });
    watch();
  }

  template <class Start>
  void begin(const HttpRequest& request, const Start& start) {
    begun_ = Clock::now();
    access_ = AccessRecord{};
    access_.method = request.method;
    access_.path = request.path;
    const bool has_id = is_plain_id(request.request_id);
    access_.request_id = has_id ? request.request_id : "req-" + std::to_string(++loop_.next_id_);
    if (!trace_id_of(request.traceparent).empty()) access_.traceparent = request.traceparent;
    framing_.request_id = access_.request_id;
    framing_.traceparent = access_.traceparent;
    ++loop_.num_open_;
    try {
      exchange_ = start();
    } catch (const std::exception& error) {
      exchange_ = ready(500, error.what());
    }
    pump();
  }

  std::unique_ptr<HttpExchange> ready(int status, const std::string& message) const {
    HttpHead head;
    head.status = status;
    return std::make_unique<ReadyExchange>(std::move(head), loop_.handler_.error_body(status, message));
  }

  void refuse(const error_code& failed) {
    const std::optional<int> status = status_of(failed);
    if (!status) return close();
    framing_.keep_alive = false;
    framing_.version = 11;
    begin(HttpRequest{}, [&] { return ready(*status, "this is no request: " + failed.message()); });
  }

  void watch() {
    if (closed_ || watching_ || (!lingering_ && buffer_.size() >= kReadAhead)) return;
    watching_ = true;
    socket_.async_read_some(buffer_.prepare(kReadSize), guarded(&Connection::on_more));
  }

  void on_more(error_code failed, std::size_t size) {
    watching_ = false;
    buffer_.commit(size);
    const bool gone = failed && failed != asio::error::operation_aborted;
    if (lingering_) buffer_.clear();
    if (gone || (lingering_ && failed)) {
      close();
    } else if (answered_) {
      read_request();
    } else {
      watch();
    }
  }

  void on_written(error_code failed, std::size_t size) {
    writing_ = false;
    access_.bytes += size;
    if (failed) return close();
    if (!last_) return pump();
    end_exchange(true);
    if (!framing_.keep_alive) return linger();
    answered_ = true;
    if (!watching_) return read_request();
    expect_within(limits().idle_timeout);
    error_code ignored;
    socket_.cancel(ignored);
  }

  // Closing at once would reset the connection of a client that still sends, and take the answer from it.
  void linger() {
    lingering_ = true;
    expect_within(kLinger);
    buffer_.clear();
    error_code ignored;
    socket_.shutdown(tcp::socket::shutdown_send, ignored);
    watch();
  }

  void end_exchange(bool complete) {
    if (!exchange_) return;
    access_.facts = exchange_->facts();
    access_.complete = complete;
    access_.duration = Clock::now() - begun_;
    exchange_.reset();
    --loop_.num_open_;
    if (limits().on_done) limits().on_done(access_);
  }

  Loop& loop_;
  std::uint64_t id_;
  tcp::socket socket_;
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::string_body>> parser_;
  std::unique_ptr<HttpExchange> exchange_;
  std::string out_;  // what is being written
  HttpFraming framing_;
  AccessRecord access_;
  Clock::time_point begun_{};
  Clock::time_point deadline_ = Clock::time_point::max();
  std::uint64_t num_requests_ = 0;
  int pending_ = 0;  // asynchronous operations that refer to this
  bool last_ = false;
  bool writing_ = false;
  bool watching_ = false;
  bool answered_ = false;  // the next request may be read when watching ends
  bool lingering_ = false;
  bool closed_ = false;
};

HttpServer::Loop::Loop(HttpHandler& handler, HttpServerOptions options)
    : handler_(handler), options_(std::move(options)) {
  try {
    const tcp::endpoint endpoint(asio::ip::make_address(options_.host), options_.port);
    acceptor_.open(endpoint.protocol());
    acceptor_.set_option(tcp::acceptor::reuse_address(true));
    acceptor_.bind(endpoint);
    acceptor_.listen();
    port_ = acceptor_.local_endpoint().port();
  } catch (const boost::system::system_error& error) {
    throw IoError(options_.host + " port " + std::to_string(options_.port) +
                  ": cannot be listened on: " + error.code().message());
  }
  accept();
  sweep();
  thread_ = named_thread("http", [this] { io_.run(); });
}

HttpServer::Loop::~Loop() {
  asio::post(io_, [this] {
    error_code ignored;
    acceptor_.close(ignored);
    timer_.cancel();
    for (auto next = connections_.begin(); next != connections_.end();) {
      Connection& connection = *(next++)->second;
      connection.close();
      reap(connection);
    }
  });
  thread_.join();
}

void HttpServer::Loop::accept() {
  accepting_ = true;
  acceptor_.async_accept([this](error_code failed, tcp::socket socket) {
    if (!acceptor_.is_open()) return;
    accepting_ = !failed;  // without file descriptors the next sweep tries again
    if (failed) return;
    add(std::move(socket));
    accept();
  });
}

void HttpServer::Loop::add(tcp::socket socket) {
  if (connections_.size() >= options_.max_connections) return;
  error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  const std::uint64_t id = ++next_id_;
  auto& connection = connections_[id];
  connection = std::make_unique<Connection>(*this, id, std::move(socket));
  connection->read_request();
}

void HttpServer::Loop::sweep() {
  timer_.expires_after(kSweepEvery);
  timer_.async_wait([this](error_code failed) {
    if (failed || !acceptor_.is_open()) return;
    const Clock::time_point now = Clock::now();
    for (auto next = connections_.begin(); next != connections_.end();) {
      Connection& connection = *(next++)->second;
      connection.check_deadline(now);
      reap(connection);
    }
    if (!accepting_) accept();
    sweep();
  });
}

void HttpServer::Loop::wake(std::uint64_t id) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  try {
    found->second->pump();
  } catch (const std::exception&) {
    found->second->close();
  }
  reap(*found->second);
}

void HttpServer::Loop::reap(const Connection& connection) {
  if (connection.finished()) connections_.erase(connection.id());
}

HttpServer::HttpServer(HttpHandler& handler, HttpServerOptions options)
    : loop_(std::make_unique<Loop>(handler, std::move(options))) {}

HttpServer::~HttpServer() = default;

std::uint16_t HttpServer::port() const { return loop_->port(); }

std::size_t HttpServer::num_open() const { return loop_->num_open(); }

}  // namespace servetwin
