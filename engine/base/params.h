// Self-describing parameters: one declaration gives the reader, the defaults, the help and the schema.
//
//   struct Params {
//     Duration max_wait{30s};
//     Order order = Order::kFcfs;
//     template <class Visitor> void fields(Visitor& v) {
//       v("max_wait", max_wait, "A request older than this goes first.", Range{1ms, 10min});
//       v("order", order, "Who goes first.", Choices<Order>{{"fcfs", Order::kFcfs}, {"lcfs", Order::kLcfs}});
//     }
//     std::string problem() const;  // optional: what is wrong between fields, or empty
//   };
#pragma once

#include <string>
#include <vector>

#include "engine/base/config_node.h"
#include "engine/base/error.h"

namespace servetwin {

// What may follow the help text of a field, in any order.
struct Required {};
inline constexpr Required kRequired{};  // no default: the key must be there
struct Positive {};
inline constexpr Positive kPositive{};  // above zero
struct BytesOnly {};
inline constexpr BytesOnly kBytesOnly{};  // a bandwidth never written in bits, such as a memory's
// Both ends included. Durations, bytes, counts and rates without a Range must not be negative.
template <class Low, class High>
struct Range {
  Low low;
  High high;
  constexpr Range(Low l, High h) : low(l), high(h) {}
};
template <class Low>
struct AtLeast {
  Low low;
  constexpr explicit AtLeast(Low l) : low(l) {}
};
template <class Enum>
struct Choice {
  const char* name;
  Enum value;
};
template <class Enum>
using Choices = std::vector<Choice<Enum>>;  // due for every enum

// Types a field may have: bool, int, std::int64_t, double, std::string, Duration, Bytes, Tokens, Blocks,
// BytesPerSecond, FlopsPerSecond, PerSecond, an enum with Choices, a struct with fields(), ConfigNode (left
// to a later reader), and std::optional or std::vector of these. Rules of a list apply to its elements.
enum class FieldType {
  kBool,
  kInteger,
  kNumber,
  kText,
  kDuration,
  kBytes,
  kTokens,
  kBlocks,
  kBandwidth,
  kFlopRate,
  kRate,
  kChoice,
  kObject,
  kAny,
};
const char* name_of(FieldType type);
// The units its text may have, for people; empty for plain numbers and text.
const char* units_of(FieldType type);

struct FieldInfo {
  std::string name;
  std::string help;
  FieldType type = FieldType::kAny;  // of an element when it is a list
  bool list = false;
  bool required = false;
  bool nullable = false;     // null means none
  std::string default_text;  // as it would be written; empty when required or an object, "null" for none
  std::string minimum;       // as text; empty when unbounded
  std::string maximum;
  bool above_minimum = false;  // the minimum itself is refused
  std::vector<std::string> choices;
  std::vector<FieldInfo> fields;  // of an object
};

// Stable codes of what can be wrong with parameters.
inline constexpr const char* kCodeUnknownKey = "CFG101";
inline constexpr const char* kCodeWrongType = "CFG102";
inline constexpr const char* kCodeBadValue = "CFG103";
inline constexpr const char* kCodeOutOfRange = "CFG104";
inline constexpr const char* kCodeMissing = "CFG105";
inline constexpr const char* kCodeInconsistent = "CFG106";
inline constexpr const char* kCodeUnknownName = "CFG107";

// The parameters of a map; a null node gives the defaults. Throws one ConfigError with everything that is
// wrong.
template <class Params>
Params read_params(const ConfigNode& node);
// The same, but adds the problems to a list, for readers that go on collecting.
template <class Params>
Params read_params(const ConfigNode& node, std::vector<Problem>& problems);

template <class Params>
std::vector<FieldInfo> describe_params();

// Every field with its value as text, such that read_params gives the same back.
template <class Params>
ConfigNode write_params(const Params& params);

// For whoever looks a name up: nearest valid name, and all of them.
Problem unknown_name_problem(const ConfigNode& node,
                             const std::string& name,
                             const std::vector<std::string>& valid_names);

}  // namespace servetwin

#include "engine/base/param_reader.h"
