// Headers by which a request is followed through systems.
#include <algorithm>

#include "engine/live/http/http_server.h"

namespace servetwin {
namespace {

bool is_hex(const std::string& text, std::size_t from, std::size_t count) {
  return std::all_of(text.begin() + static_cast<std::ptrdiff_t>(from),
                     text.begin() + static_cast<std::ptrdiff_t>(from + count),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool is_zero(const std::string& text, std::size_t from, std::size_t count) {
  return text.compare(from, count, std::string(count, '0')) == 0;
}

}  // namespace

// version 00: 00-<32 digits>-<16 digits>-<2 digits>, neither id all zeros.
std::string trace_id_of(const std::string& traceparent) {
  constexpr std::size_t kTrace = 3;
  constexpr std::size_t kParent = 36;
  constexpr std::size_t kFlags = 53;
  if (traceparent.size() != 55 || traceparent.compare(0, kTrace, "00-") != 0) return "";
  if (traceparent[kParent - 1] != '-' || traceparent[kFlags - 1] != '-') return "";
  const bool digits =
      is_hex(traceparent, kTrace, 32) && is_hex(traceparent, kParent, 16) && is_hex(traceparent, kFlags, 2);
  if (!digits || is_zero(traceparent, kTrace, 32) || is_zero(traceparent, kParent, 16)) return "";
  return traceparent.substr(kTrace, 32);
}

bool is_plain_id(const std::string& text) {
  constexpr std::size_t kLongest = 128;
  const auto plain = [](char c) { return c > ' ' && c < 127 && c != '"' && c != '\\'; };
  return !text.empty() && text.size() <= kLongest && std::all_of(text.begin(), text.end(), plain);
}

}  // namespace servetwin
