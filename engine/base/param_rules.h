// What the visitors of params.h share: shapes of field types, rules of a field, scalars as text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "engine/base/param_scalars.h"
#include "engine/base/params.h"
#include "engine/base/unit_text.h"

namespace servetwin::param_detail {

// T, optional<T>, vector<T> and optional<vector<T>> all have the leaf T. Lists of lists are not supported.
template <class T>
struct Shape {
  using Leaf = T;
  static constexpr bool kIsOptional = false;
  static constexpr bool kIsList = false;
};

template <class T>
struct Shape<std::optional<T>> : Shape<T> {
  static constexpr bool kIsOptional = true;
};

template <class T>
struct Shape<std::vector<T>> : Shape<T> {
  static_assert(!Shape<T>::kIsList && !Shape<T>::kIsOptional);
  static constexpr bool kIsOptional = false;
  static constexpr bool kIsList = true;
};

template <class T>
using LeafOf = typename Shape<T>::Leaf;

struct NullVisitor {
  template <class... Arguments>
  void operator()(const Arguments&...) {}
};

template <class T>
concept HasFields = requires(T& value, NullVisitor& visitor) {
  value.fields(visitor);
};

template <class T>
concept IsQuantity = std::is_same_v<T, Duration> || std::is_same_v<T, Bytes> || std::is_same_v<T, Tokens> ||
    std::is_same_v<T, Blocks> || std::is_same_v<T, BytesPerSecond> || std::is_same_v<T, FlopsPerSecond> ||
    std::is_same_v<T, PerSecond>;

template <class Leaf>
struct Rules {
  bool required = false;
  bool above_minimum = false;
  BitUnits bits = BitUnits::kAllowed;
  std::optional<Leaf> low;
  std::optional<Leaf> high;
  Choices<Leaf> choices;

  void add(Required) { required = true; }
  void add(BytesOnly) { bits = BitUnits::kRefused; }

  void add(Positive) {
    low = Leaf{};
    above_minimum = true;
  }

  template <class Low, class High>
  void add(const Range<Low, High>& range) {
    low = static_cast<Leaf>(range.low);
    high = static_cast<Leaf>(range.high);
  }

  template <class Low>
  void add(const AtLeast<Low>& bound) {
    low = static_cast<Leaf>(bound.low);
  }

  void add(const Choices<Leaf>& list) { choices = list; }

  bool allows(const Leaf& value) const {
    if (low && (above_minimum ? !(value > *low) : value < *low)) return false;
    return !high || !(value > *high);
  }
};

template <class Leaf, class... Given>
Rules<Leaf> rules_of(const Given&... given) {
  Rules<Leaf> rules;
  if constexpr (IsQuantity<Leaf>) rules.low = Leaf{};
  (rules.add(given), ...);
  return rules;
}

template <class Leaf>
FieldType type_of() {
  if constexpr (std::is_enum_v<Leaf>) {
    return FieldType::kChoice;
  } else if constexpr (HasFields<Leaf>) {
    return FieldType::kObject;
  } else if constexpr (std::is_same_v<Leaf, ConfigNode>) {
    return FieldType::kAny;
  } else {
    return Scalar<Leaf>::kType;
  }
}

// What is wrong, in words; see params.cpp.
ConfigNode absent_child(const ConfigNode& parent, const std::string& name);
Problem missing_field(const ConfigNode& parent, const FieldInfo& info);
Problem wrong_type(const ConfigNode& node, const std::string& expected);
Problem bad_value(const ConfigNode& node, const std::string& message, const std::string& remedy);
Problem bad_choice(const ConfigNode& node, const std::vector<std::string>& choices);
Problem out_of_range(const ConfigNode& node, const FieldInfo& info);
Problem inconsistent(const ConfigNode& node, const std::string& message);
void add_unknown_keys(const ConfigNode& node,
                      const std::vector<std::string>& known,
                      std::vector<Problem>& problems);
// Whether the node is a scalar that may be read as that type; adds a problem when not.
bool check_scalar(const ConfigNode& node, FieldType type, std::vector<Problem>& problems);
ConfigNode scalar_node(std::string text, bool quoted);
std::string text_of(const ConfigNode& node);

}  // namespace servetwin::param_detail
