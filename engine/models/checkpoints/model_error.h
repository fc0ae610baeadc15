// What can be wrong with a model file: one stable code for each kind of fault.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace servetwin {

inline constexpr const char* kModelFileMissing = "MDL001";
inline constexpr const char* kModelFileShort = "MDL002";
inline constexpr const char* kModelHeaderLength = "MDL003";
inline constexpr const char* kModelHeaderText = "MDL004";
inline constexpr const char* kModelHeaderField = "MDL005";
inline constexpr const char* kTensorTwice = "MDL006";
inline constexpr const char* kTensorFormat = "MDL007";
inline constexpr const char* kTensorShape = "MDL008";
inline constexpr const char* kTensorSize = "MDL009";
inline constexpr const char* kTensorOffset = "MDL010";
inline constexpr const char* kTensorOverlap = "MDL011";
inline constexpr const char* kTensorGap = "MDL012";
inline constexpr const char* kModelExtraBytes = "MDL013";
inline constexpr const char* kModelDataMissing = "MDL014";
inline constexpr const char* kGgufVersion = "MDL015";
inline constexpr const char* kGgufMetadata = "MDL016";
inline constexpr const char* kGgufAlignment = "MDL017";
inline constexpr const char* kShardIndex = "MDL018";
inline constexpr const char* kTensorAbsent = "MDL019";
inline constexpr const char* kModelFamily = "MDL020";
inline constexpr const char* kTensorNotFinite = "MDL021";
inline constexpr const char* kModelFileChanged = "MDL022";

// What is wrong and what to do.
struct ModelFault {
  const char* code = nullptr;
  std::string message;
  std::string remedy = "copy or download the file again";
};

// Throws a ConfigError about `file` and, when it is not empty, the tensor or key `name` in it.
[[noreturn]] void fail_model(const std::string& file, std::string_view name, ModelFault fault);

// A name from a file as it may be printed: control characters and quotes escaped, at most 100 bytes.
std::string printable(std::string_view text);

}  // namespace servetwin
