// Plain HTTP alone: a calibration measures the server and not a tunnel to it.
#include "calibrate/endpoint/endpoint_address.h"

#include <algorithm>
#include <string_view>

#include "engine/base/error.h"
#include "engine/base/text.h"

namespace servetwin {
namespace {

constexpr const char* kForm = "write http://HOST:PORT, such as http://127.0.0.1:8000";

[[noreturn]] void refuse_address(const std::string& url, const std::string& message, const char* remedy) {
  throw ConfigError(Problem{"CAL101", {url, 0, 0}, "", message, remedy});
}

bool is_port(const std::string& text) {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  return !text.empty() && text.size() <= 5 && std::all_of(text.begin(), text.end(), digit) &&
         std::stoi(text) >= 1 && std::stoi(text) <= 65'535;
}

bool is_printable(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 127; });
}

std::string without_end(std::string text, std::string_view end) {
  const bool ends = text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
  if (ends) text.resize(text.size() - end.size());
  return text;
}

}  // namespace

std::string EndpointAddress::text() const {
  const bool is_v6 = host.find(':') != std::string::npos;
  return "http://" + (is_v6 ? '[' + host + ']' : host) + ':' + port + prefix;
}

EndpointAddress endpoint_address(const std::string& url) {
  const std::size_t scheme = url.find("://");
  std::string name = url.substr(0, scheme == std::string::npos ? 0 : scheme);
  std::transform(name.begin(), name.end(), name.begin(), lower_case);
  if (name == "https") {
    refuse_address(url, "is encrypted, and only plain HTTP is measured",
                   "name the server's own port, or one that a tunnel such as ssh -L or stunnel opens here");
  }
  if (name != "http") refuse_address(url, "is no http:// address", kForm);
  if (!is_printable(url)) refuse_address(url, "has characters that no address has", kForm);
  const std::string rest = url.substr(scheme + 3);
  const std::size_t slash = rest.find('/');
  std::string place = rest.substr(0, slash);
  EndpointAddress address;
  if (slash != std::string::npos) address.prefix = rest.substr(slash);
  address.prefix = without_end(without_end(without_end(address.prefix, "/"), "/v1"), "/");
  if (rest.find_first_of("?#@") != std::string::npos) {
    refuse_address(url, "has a user, a query or a fragment", "leave them out; a key goes into --api-key-env");
  }
  const std::size_t end_v6 = place.empty() || place.front() != '[' ? std::string::npos : place.find(']');
  const std::size_t colon = place.find(':', end_v6 == std::string::npos ? 0 : end_v6);
  address.port = colon == std::string::npos ? "80" : place.substr(colon + 1);
  address.host = place.substr(0, colon);
  if (end_v6 != std::string::npos) address.host = place.substr(1, end_v6 - 1);
  if (address.host.empty()) refuse_address(url, "names no host", kForm);
  if (!is_port(address.port)) refuse_address(url, '"' + address.port + "\" is no port", kForm);
  return address;
}

void refuse_endpoint(const EndpointAddress& address, const std::string& message, const std::string& remedy) {
  throw ConfigError(Problem{"CAL102", {address.text(), 0, 0}, "", message, remedy});
}

std::string printable(std::string text) {
  for (char& c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) c = '?';
  }
  return text;
}

}  // namespace servetwin
