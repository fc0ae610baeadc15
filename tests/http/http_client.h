// A client that says exactly what a test tells it to, on a plain socket.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace servetwin::test {

struct Reply {
  int status = 0;                              // 0: the connection ended without one
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;                            // chunks joined
};

class HttpClient {
 public:
  // `receive_buffer`: bytes the kernel keeps for us, 0: as usual.
  explicit HttpClient(std::uint16_t port, int receive_buffer = 0);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // False when the other side is gone.
  bool send(const std::string& bytes);
  void half_close();
  void close();

  // The next response, whole.
  Reply reply(std::chrono::milliseconds patience = std::chrono::seconds(20));
  // What comes within that time, at least `least` bytes if they come at all; stops at the end.
  std::string some(std::size_t least, std::chrono::milliseconds patience = std::chrono::seconds(20));
  // Whether the server closes within that time.
  bool closed_within(std::chrono::milliseconds patience);

 private:
  bool fill(std::chrono::steady_clock::time_point latest);

  int socket_;
  std::string buffer_;
  bool ended_ = false;
};

std::string get(const std::string& path, const std::string& headers = "");
std::string post(const std::string& path, const std::string& body, const std::string& headers = "");

// The data of each event of a stream.
std::vector<std::string> events(const std::string& body);

}  // namespace servetwin::test
