// POSIX sockets and as little HTTP as tests need.
#include "tests/http/http_client.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cctype>
#include <cerrno>
#include <netinet/in.h>
#include <poll.h>
#include <stdexcept>
#include <sys/socket.h>
#include <unistd.h>

namespace servetwin::test {

using Clock = std::chrono::steady_clock;

HttpClient::HttpClient(std::uint16_t port, int receive_buffer) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
  if (receive_buffer > 0) {
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof(receive_buffer));
  }
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    throw std::runtime_error("cannot connect");
  }
}

HttpClient::~HttpClient() { close(); }

void HttpClient::close() {
  if (socket_ >= 0) ::close(socket_);
  socket_ = -1;
}

void HttpClient::half_close() { ::shutdown(socket_, SHUT_WR); }

bool HttpClient::send(const std::string& bytes) {
  for (std::size_t sent = 0; sent < bytes.size();) {
    const ssize_t now = ::send(socket_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (now <= 0) return false;
    sent += static_cast<std::size_t>(now);
  }
  return true;
}

// False at the end, after an error, or when time is up.
bool HttpClient::fill(Clock::time_point latest) {
  if (ended_) return false;
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(latest - Clock::now()).count();
  pollfd wait{socket_, POLLIN, 0};
  if (::poll(&wait, 1, static_cast<int>(std::max<long>(left, 0))) <= 0) return false;
  char bytes[65536];
  const ssize_t got = ::recv(socket_, bytes, sizeof(bytes), 0);
  ended_ = got <= 0;
  if (!ended_) buffer_.append(bytes, static_cast<std::size_t>(got));
  return !ended_;
}

std::string HttpClient::some(std::size_t least, std::chrono::milliseconds patience) {
  const auto latest = Clock::now() + patience;
  while (buffer_.size() < least && fill(latest)) continue;
  std::string taken;
  taken.swap(buffer_);
  return taken;
}

bool HttpClient::closed_within(std::chrono::milliseconds patience) {
  const auto latest = Clock::now() + patience;
  while (fill(latest)) continue;
  return ended_;
}

Reply HttpClient::reply(std::chrono::milliseconds patience) {
  const auto latest = Clock::now() + patience;
  Reply reply;
  const auto upto = [&](const std::string& mark) {
    std::size_t at = buffer_.find(mark);
    while (at == std::string::npos && fill(latest)) at = buffer_.find(mark);
    std::string text = at == std::string::npos ? "" : buffer_.substr(0, at);
    buffer_.erase(0, at == std::string::npos ? buffer_.size() : at + mark.size());
    return text;
  };
  const auto bytes = [&](std::size_t count) {
    while (buffer_.size() < count && fill(latest)) continue;
    std::string text = buffer_.substr(0, count);
    buffer_.erase(0, text.size());
    return text;
  };
  std::string head = upto("\r\n\r\n") + "\r\n";
  if (head.size() < 12) return reply;
  reply.status = std::stoi(head.substr(9, 3));
  for (std::size_t at = head.find("\r\n") + 2; at < head.size();) {
    const std::size_t end = head.find("\r\n", at);
    const std::size_t colon = head.find(": ", at);
    std::string name = head.substr(at, colon - at);
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    reply.headers[name] = head.substr(colon + 2, end - colon - 2);
    at = end + 2;
  }
  if (reply.headers.count("content-length") > 0) {
    reply.body = bytes(std::stoul(reply.headers["content-length"]));
  } else if (reply.headers.count("transfer-encoding") > 0) {
    for (std::string size = upto("\r\n"); !size.empty(); size = upto("\r\n")) {
      const std::size_t count = std::stoul(size, nullptr, 16);
      reply.body += bytes(count);
      upto("\r\n");
      if (count == 0) break;
    }
  } else {
    while (fill(latest)) continue;
    reply.body.swap(buffer_);
  }
  return reply;
}

std::string get(const std::string& path, const std::string& headers) {
  return "GET " + path + " HTTP/1.1\r\nHost: x\r\n" + headers + "\r\n";
}

std::string post(const std::string& path, const std::string& body, const std::string& headers) {
  return "POST " + path + " HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: " +
         std::to_string(body.size()) + "\r\n" + headers + "\r\n" + body;
}

std::vector<std::string> events(const std::string& body) {
  std::vector<std::string> found;
  for (std::size_t at = 0; at < body.size();) {
    const std::size_t end = body.find("\n\n", at);
    if (end == std::string::npos || body.compare(at, 6, "data: ") != 0) {
      throw std::runtime_error("no event stream: " + body.substr(at, 60));
    }
    found.push_back(body.substr(at + 6, end - at - 6));
    at = end + 2;
  }
  return found;
}

}  // namespace servetwin::test
