// Takes the bytes of one HTTP response as they come and gives the body's.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace servetwin {

class HttpReader {
 public:
  HttpReader();
  ~HttpReader();
  HttpReader(HttpReader&&) noexcept;
  HttpReader& operator=(HttpReader&&) noexcept;

  // The bytes of the body among them, chunks joined. False: that is no HTTP.
  bool put(std::string_view bytes, std::string& body);
  // The connection has ended; false when the response has not.
  bool put_end();
  bool is_done() const;
  int status() const;       // 0 before the head is there
  int retry_after() const;  // seconds; 0 where the head does not say

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace servetwin
