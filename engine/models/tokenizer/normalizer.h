// What is done to text before it is cut into words.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace servetwin {

// Every occurrence of one text becomes another.
struct ReplaceText {
  std::string from;
  std::string to;
};

// Put before any text that is not empty.
struct PrependText {
  std::string text;
};

// Unicode's canonical composition.
struct ComposeText {};

using NormalizerStep = std::variant<ReplaceText, PrependText, ComposeText>;

// The valid UTF-8 `text` after all steps, in order.
std::string normalized(const std::vector<NormalizerStep>& steps, std::string text);

std::string replaced(std::string_view text, const ReplaceText& what);

}  // namespace servetwin
