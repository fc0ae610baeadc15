// JSON Schema (draft-07) of scenario files, for editors, from the same declarations that read them.
#pragma once

#include <string>

namespace servetwin {

inline constexpr const char* kSchemaUrl = "http://json-schema.org/draft-07/schema#";

// Covers every registered plug-in. Accepts all that the reader accepts, but not the rules between values.
std::string json_schema();
// Of comparison files; what variants set is checked by the reader alone.
std::string comparison_schema();

}  // namespace servetwin
