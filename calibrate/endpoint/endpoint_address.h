// Where a server answers: what a URL says of it.
#pragma once

#include <string>

namespace servetwin {

struct EndpointAddress {
  std::string host;
  std::string port;
  std::string prefix;  // of paths, "" or "/gateway": without the API's own "/v1"

  std::string path(const std::string& of_api) const { return prefix + of_api; }
  std::string text() const;  // the URL again, without what was left out
};

// Of http://HOST[:PORT][/PREFIX][/v1]. Throws ConfigError (CAL101) for everything else, https among it.
EndpointAddress endpoint_address(const std::string& url);

// Text of a server, fit for a terminal: control characters are shown as ?.
std::string printable(std::string text);

// An error whose place is the server: what is wrong with it, and what to do.
[[noreturn]] void refuse_endpoint(const EndpointAddress& address,
                                  const std::string& message,
                                  const std::string& remedy);

}  // namespace servetwin
