// One thread waits for all sockets. What it was woken for is read first and given the time of waking up, and
// only then taken apart, so that many answers at once do not delay each other's times.
#include "calibrate/endpoint/load_client.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string_view>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

#include "calibrate/endpoint/http_reader.h"

namespace servetwin {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::size_t kMostBytes = std::size_t{64} << 20U;  // of an answer; one of a token takes some hundred
constexpr Duration kLongestWait{std::chrono::milliseconds(50)};  // then a stop is looked for

struct AddressListDeleter {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};
using AddressList = std::unique_ptr<addrinfo, AddressListDeleter>;

AddressList resolve(const EndpointAddress& address) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(address.host.c_str(), address.port.c_str(), &hints, &found);
  if (error != 0) {
    refuse_endpoint(address, address.host + " is not found: " + ::gai_strerror(error), "check the name");
  }
  return AddressList(found);
}

// A socket that connects, or -1.
int connect_to(const addrinfo& to) {
  const int socket = ::socket(to.ai_family, to.ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, to.ai_protocol);
  if (socket < 0) return -1;
  const int yes = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
  if (::connect(socket, to.ai_addr, to.ai_addrlen) == 0 || errno == EINPROGRESS) return socket;
  ::close(socket);
  return -1;
}

bool is_connected(int socket) {
  int error = 0;
  socklen_t size = sizeof(error);
  ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size);
  return error == 0;
}

// A name may have several addresses, of which a server has one: the first that takes a connection.
const addrinfo* reachable(const addrinfo& first) {
  for (const addrinfo* to = &first; to != nullptr && first.ai_next != nullptr; to = to->ai_next) {
    const int socket = connect_to(*to);
    if (socket < 0) continue;
    pollfd wait{socket, POLLOUT, 0};
    const bool answers = ::poll(&wait, 1, 1000) > 0 && is_connected(socket);
    ::close(socket);
    if (answers) return to;
  }
  return &first;
}

std::string request_text(const EndpointAddress& address, const HttpCall& call, const std::string& api_key) {
  const bool is_v6 = address.host.find(':') != std::string::npos;
  std::string text = (call.body.empty() ? "GET " : "POST ") + address.path(call.path) +
                     " HTTP/1.1\r\nHost: " + (is_v6 ? '[' + address.host + ']' : address.host) + ':' +
                     address.port + "\r\nConnection: close\r\nUser-Agent: servetwin\r\n";
  if (!api_key.empty()) text += "Authorization: Bearer " + api_key + "\r\n";
  if (!call.body.empty()) {
    text += "Content-Type: application/json\r\nContent-Length: " + std::to_string(call.body.size()) + "\r\n";
  }
  return text + "\r\n" + call.body;
}

// A call under way.
class Flight {
 public:
  Flight(const addrinfo& to, std::string request, HttpAnswer& answer)
      : request_(std::move(request)), answer_(&answer), socket_(connect_to(to)) {
    if (socket_ < 0) finish(CallEnd::kNotConnected, Duration{0});
  }
  ~Flight() { close(); }
  Flight(const Flight&) = delete;
  Flight& operator=(const Flight&) = delete;

  bool ended() const { return ended_; }
  pollfd question() const {
    const bool writes = written_ < request_.size();
    return {socket_, static_cast<short>(writes ? POLLIN | POLLOUT : POLLIN), 0};
  }

  // Takes the bytes alone.
  void wake(short events, Duration now) {
    if ((events & POLLOUT) != 0) write(now);
    if (!ended_ && (events & (POLLIN | POLLHUP | POLLERR)) != 0) read(now);
  }

  void take_apart(Duration now) {
    if (ended_ || (read_.empty() && !closed_)) return;
    std::string body;
    const bool proper = read_.empty() || reader_.put(read_, body);
    read_.clear();
    const bool was_last = ends_stream(body);
    if (!body.empty()) answer_->parts.push_back({now, std::move(body)});
    answer_->status = reader_.status();
    answer_->retry_after = reader_.retry_after();
    if (!proper) return finish(CallEnd::kCut, now);
    if (reader_.is_done() || was_last) return finish(CallEnd::kComplete, now);
    if (received_ > kMostBytes) return finish(CallEnd::kTooLong, now);
    if (closed_) finish(reader_.put_end() ? CallEnd::kComplete : CallEnd::kCut, now);
  }

  void finish(CallEnd end, Duration now) {
    answer_->end = end;
    answer_->ended = now;
    ended_ = true;
    close();
  }

 private:
  // Whether the last event of a stream is among the bytes. Servers may keep the connection after it.
  bool ends_stream(const std::string& body) {
    constexpr std::string_view kLast = "\ndata: [DONE]";
    tail_ += body;
    const bool found = tail_.find(kLast) != std::string::npos;
    if (tail_.size() > kLast.size()) tail_.erase(0, tail_.size() - kLast.size());
    return found;
  }

  void close() {
    if (socket_ >= 0) ::close(std::exchange(socket_, -1));
  }

  void write(Duration now) {
    if (!connected_) {
      if (!is_connected(socket_)) return finish(CallEnd::kNotConnected, now);
      connected_ = true;
      answer_->sent = now;
    }
    const ssize_t sent =
        ::send(socket_, request_.data() + written_, request_.size() - written_, MSG_NOSIGNAL);
    if (sent > 0) written_ += static_cast<std::size_t>(sent);
    // A server may refuse a request before it has read all of it: its answer is still to be read.
    if (sent < 0 && errno != EAGAIN) written_ = request_.size();
  }

  void read(Duration now) {
    char bytes[65536];
    while (received_ <= kMostBytes) {
      const ssize_t got = ::recv(socket_, bytes, sizeof(bytes), 0);
      if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
      if (got < 0 && !connected_) return finish(CallEnd::kNotConnected, now);
      if (got <= 0) {
        closed_ = true;
        return;
      }
      received_ += static_cast<std::size_t>(got);
      read_.append(bytes, static_cast<std::size_t>(got));
    }
  }

  std::string request_;
  std::size_t written_ = 0;
  HttpAnswer* answer_;
  int socket_;
  bool connected_ = false;
  bool closed_ = false;
  bool ended_ = false;
  HttpReader reader_;
  std::string read_;
  std::size_t received_ = 0;
  std::string tail_;  // of the body, as long as the line that ends a stream
};

class LoadRun {
 public:
  LoadRun(const EndpointAddress& address, const std::string& api_key, const Load& load)
      : address_(address), api_key_(api_key), load_(load), found_(resolve(address)), to_(reachable(*found_)) {
    answers_.calls.resize(load.calls.size());
    flights_.resize(load.calls.size());
  }

  LoadAnswers run(const volatile bool* stop) {
    start_ = SteadyClock::now();
    while (!all_ended()) {
      const Duration now = this->now();
      if (*stop || now >= load_.timeout) {
        end_all(*stop ? CallEnd::kStopped : CallEnd::kTimedOut, now);
        break;
      }
      send_due();
      sample(now);
      wait_and_read();
    }
    if (sample_) {
      sample_->finish(CallEnd::kStopped, now());
      sample_.reset();
    }
    return std::move(answers_);
  }

 private:
  Duration now() const { return SteadyClock::now() - start_; }

  std::unique_ptr<Flight> flight(const HttpCall& call, HttpAnswer& answer) const {
    return std::make_unique<Flight>(*to_, request_text(address_, call, api_key_), answer);
  }

  bool all_ended() const {
    return std::all_of(flights_.begin(), flights_.end(), [](const auto& one) { return one && one->ended(); });
  }

  void end_all(CallEnd end, Duration now) {
    for (std::size_t i = 0; i < flights_.size(); ++i) {
      if (flights_[i] && !flights_[i]->ended()) flights_[i]->finish(end, now);
      if (!flights_[i]) answers_.calls[i].end = end;
    }
  }

  bool is_due(const HttpCall& call) const {
    for (std::size_t i = 0; call.after_parts > 0 && i < load_.calls.size(); ++i) {
      if (load_.calls[i].after_parts > 0 || (flights_[i] && flights_[i]->ended())) continue;
      if (answers_.calls[i].parts.size() < call.after_parts) return false;
    }
    return true;
  }

  void send_due() {
    for (std::size_t i = 0; i < flights_.size(); ++i) {
      const HttpCall& call = load_.calls[i];
      if (!flights_[i] && is_due(call)) flights_[i] = flight(call, answers_.calls[i]);
    }
  }

  void sample(Duration now) {
    if (load_.sampled_path.empty()) return;
    if (sample_ && sample_->ended()) {
      answers_.samples.push_back(std::move(sample_answer_));
      sample_.reset();
    }
    if (sample_ || now < next_sample_) return;
    sample_answer_ = {};
    next_sample_ = now + load_.sample_every;
    sample_ = flight({load_.sampled_path, "", 0}, sample_answer_);
  }

  void wait_and_read() {
    std::vector<Flight*> awake;
    std::vector<pollfd> questions;
    const auto ask = [&](Flight& flight) {
      if (flight.ended()) return;
      awake.push_back(&flight);
      questions.push_back(flight.question());
    };
    for (auto& flight : flights_) {
      if (flight) ask(*flight);
    }
    if (sample_) ask(*sample_);
    Duration wait = kLongestWait;
    if (!load_.sampled_path.empty() && !sample_) wait = std::min(wait, next_sample_ - now());
    const auto whole = std::chrono::duration_cast<std::chrono::milliseconds>(wait).count();
    ::poll(questions.data(), questions.size(), static_cast<int>(std::max<std::int64_t>(whole, 1)));
    const Duration woken = now();
    for (std::size_t i = 0; i < awake.size(); ++i) awake[i]->wake(questions[i].revents, woken);
    for (Flight* flight : awake) flight->take_apart(woken);
  }

  const EndpointAddress& address_;
  const std::string& api_key_;
  const Load& load_;
  AddressList found_;
  const addrinfo* to_;
  SteadyClock::time_point start_;
  LoadAnswers answers_;
  std::vector<std::unique_ptr<Flight>> flights_;
  HttpAnswer sample_answer_;
  std::unique_ptr<Flight> sample_;
  Duration next_sample_{0};
};

}  // namespace

std::string HttpAnswer::body() const {
  std::string all;
  for (const BodyPart& part : parts) all += part.bytes;
  return all;
}

std::string HttpAnswer::problem() const {
  if (end == CallEnd::kNotConnected) return "does not take connections";
  if (end == CallEnd::kTimedOut) return "did not answer in time";
  if (end == CallEnd::kStopped) return "was not waited for";
  if (end == CallEnd::kTooLong) return "sent more than 64 MiB in one answer";
  if (status == 0) return "closed the connection without an answer";
  if (status != 200) return "status " + std::to_string(status) + ": " + printable(body().substr(0, 300));
  return end == CallEnd::kCut ? "closed the connection within an answer" : "";
}

LoadClient::LoadClient(EndpointAddress address, std::string api_key, const volatile bool* stop)
    : address_(std::move(address)), api_key_(std::move(api_key)), stop_(stop) {}

LoadAnswers LoadClient::run(const Load& load) const { return LoadRun(address_, api_key_, load).run(stop_); }

HttpAnswer LoadClient::get(const std::string& path) const {
  Load load;
  load.calls = {{path, "", 0}};
  load.timeout = std::chrono::seconds(10);
  return std::move(run(load).calls.front());
}

HttpAnswer LoadClient::post(const std::string& path, const std::string& body, Duration timeout) const {
  Load load;
  load.calls = {{path, body, 0}};
  load.timeout = timeout;
  return std::move(run(load).calls.front());
}

}  // namespace servetwin
