// Names come from files that nobody vouches for, so they are made harmless before they are printed.
#include "engine/models/checkpoints/model_error.h"

#include <utility>

#include "engine/base/error.h"

namespace servetwin {

void fail_model(const std::string& file, std::string_view name, ModelFault fault) {
  throw ConfigError(Problem{fault.code, SourcePlace{file, 0, 0}, printable(name), std::move(fault.message),
                            std::move(fault.remedy)});
}

std::string printable(std::string_view text) {
  constexpr std::size_t kShown = 100;
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string result;
  for (const char c : text.substr(0, kShown)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7F && c != '"' && c != '\\') {
      result += c;
    } else {
      result += "\\x";
      result += kHex[byte >> 4U];
      result += kHex[byte & 15U];
    }
  }
  return text.size() > kShown ? result + "..." : result;
}

}  // namespace servetwin
