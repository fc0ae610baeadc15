// The shortest-form rules of UTF-8 as one table of allowed second bytes.
#include "engine/models/tokenizer/utf8.h"

namespace servetwin {
namespace {

struct Lead {
  std::size_t length = 0;  // 0: no character starts so
  unsigned second_min = 0x80;
  unsigned second_max = 0xBF;
};

Lead lead_of(unsigned byte) {
  if (byte < 0x80) return {1};
  if (byte < 0xC2) return {0};
  if (byte < 0xE0) return {2};
  if (byte == 0xE0) return {3, 0xA0, 0xBF};
  if (byte == 0xED) return {3, 0x80, 0x9F};  // no surrogates
  if (byte < 0xF0) return {3};
  if (byte == 0xF0) return {4, 0x90, 0xBF};
  if (byte < 0xF4) return {4};
  if (byte == 0xF4) return {4, 0x80, 0x8F};  // up to U+10FFFF
  return {0};
}

unsigned byte_at(std::string_view text, std::size_t at) { return static_cast<unsigned char>(text[at]); }

}  // namespace

Utf8Step next_utf8(std::string_view text) {
  const unsigned first = byte_at(text, 0);
  const Lead lead = lead_of(first);
  if (lead.length == 0) return {0, 1};
  if (lead.length == 1) return {first, 1, true};
  char32_t code_point = first & (0x7FU >> lead.length);
  unsigned min = lead.second_min;
  unsigned max = lead.second_max;
  for (std::size_t at = 1; at < lead.length; ++at) {
    if (at == text.size()) return {0, at, false, true};
    const unsigned byte = byte_at(text, at);
    if (byte < min || byte > max) return {0, at};
    code_point = (code_point << 6U) | (byte & 0x3FU);
    min = 0x80;
    max = 0xBF;
  }
  return {code_point, lead.length, true};
}

void append_utf8(std::string& out, char32_t code_point) {
  const auto push = [&out](char32_t byte) { out += static_cast<char>(static_cast<unsigned char>(byte)); };
  if (code_point < 0x80) {
    push(code_point);
    return;
  }
  const int tails = code_point < 0x800 ? 1 : code_point < 0x10000 ? 2 : 3;
  const char32_t mark = tails == 1 ? 0xC0 : tails == 2 ? 0xE0 : 0xF0;
  push(mark | (code_point >> (6 * tails)));
  for (int tail = tails - 1; tail >= 0; --tail) push(0x80 | ((code_point >> (6 * tail)) & 0x3F));
}

std::string repaired_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Utf8Step step = next_utf8(text);
    out += step.valid ? text.substr(0, step.length) : kReplacementCharacter;
    text.remove_prefix(step.length);
  }
  return out;
}

bool is_white_space(char32_t c) {
  const bool ascii = (c >= 0x09 && c <= 0x0D) || c == 0x20;
  const bool latin = c == 0x85 || c == 0xA0 || c == 0x1680;
  const bool general = (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F;
  return ascii || latin || general || c == 0x205F || c == 0x3000;
}

}  // namespace servetwin
