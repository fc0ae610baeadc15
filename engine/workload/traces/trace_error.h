// Codes and one maker for what can be wrong with a trace.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "engine/base/error.h"

namespace servetwin {

inline constexpr const char* kCodeTraceUnreadable = "TRC001";  // missing, a folder, not a regular file
inline constexpr const char* kCodeTraceDamaged = "TRC002";  // truncated or corrupt compression, expansion cap
inline constexpr const char* kCodeTraceText = "TRC003";     // NUL byte, line too long
inline constexpr const char* kCodeTraceFormat = "TRC004";   // header or format not recognised
inline constexpr const char* kCodeTraceRow = "TRC005";      // a value of a row
inline constexpr const char* kCodeTraceUnsorted = "TRC006";
inline constexpr const char* kCodeTraceEmpty = "TRC007";

inline ConfigError trace_error(
    const char* code, const std::string& file, std::int64_t line, std::string message, std::string remedy) {
  return ConfigError(
      Problem{code, {file, static_cast<int>(line), 0}, "", std::move(message), std::move(remedy)});
}

}  // namespace servetwin
