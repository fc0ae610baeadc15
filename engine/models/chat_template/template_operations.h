// What operators, filters, tests and methods do with values.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/models/chat_template/template_syntax.h"

namespace servetwin {

inline constexpr std::size_t kMaxTemplateMemory = std::size_t{256} << 20U;  // bytes of one rendering

// Evaluated arguments: those by position, then those by name.
struct TemplateArguments {
  std::vector<TemplateRef> positional;
  std::vector<std::pair<std::string, TemplateRef>> named;

  // By position or by name; null: not given.
  TemplateRef find(std::size_t position, std::string_view name) const;
};

// One application: what is done, to what, where, with a place for the result.
struct TemplateCall {
  const std::string& name;
  TemplateRef subject;
  const TemplateArguments& arguments;
  const TemplatePlace& place;
  TemplateArena& arena;
};

TemplateRef apply_filter(const TemplateCall& call);
TemplateRef apply_method(const TemplateCall& call);
bool apply_test(const TemplateCall& call);

TemplateRef apply_binary(const std::string& sign,
                         TemplateRef left,
                         TemplateRef right,
                         const TemplatePlace& place,
                         TemplateArena& arena);
bool apply_compare(const std::string& sign,
                   const TemplateValue& left,
                   const TemplateValue& right,
                   const TemplatePlace& place);

// The elements that a loop sees: of a list, the keys of a dict, the characters of a text.
std::vector<TemplateRef> elements_of(TemplateRef value, const TemplatePlace& place, TemplateArena& arena);

// value[key] and value.key; undefined where there is none.
TemplateRef item_of(TemplateRef value,
                    const TemplateValue& key,
                    const TemplatePlace& place,
                    TemplateArena& arena);

struct TemplateSlice {
  TemplateRef start = nullptr;  // null: left out
  TemplateRef stop = nullptr;
  TemplateRef step = nullptr;
};

TemplateRef slice_of(TemplateRef value,
                     const TemplateSlice& slice,
                     const TemplatePlace& place,
                     TemplateArena& arena);

std::string kind_name(const TemplateValue& value);

}  // namespace servetwin
