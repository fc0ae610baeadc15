// Reads a small text file the safe way: regular files or standard input only, capped, valid UTF-8.
// FIFOs would block for ever, devices never end, and directories give no text.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "engine/base/error.h"

namespace servetwin {

inline constexpr std::size_t kMaxInputBytes = std::size_t{16} << 20;
inline constexpr std::size_t kMaxInputLine = std::size_t{64} << 10;

// Why `path` is no regular file, so that nobody waits for it; nothing when it is one.
std::optional<Problem> file_problem(const std::string& path);

// The text of `path` ("-": standard input). Throws ConfigError for what is no readable, regular, small file.
std::string read_input(const std::string& path);

// Checks the text and brings it into one form: without byte order mark, lines ended by \n alone. Throws
// ConfigError (named `file`) for empty text, bad UTF-8, control characters and overlong lines.
std::string clean_text(std::string text, const std::string& file);

}  // namespace servetwin
