// What a scenario can name, by kind, as data for both forms of the list.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/params.h"

namespace servetwin {

struct ListEntry {
  std::string name;
  std::string help;
  std::vector<FieldInfo> fields;
  std::string part;  // of a scenario that names it, where a kind has several
  std::vector<std::pair<std::string, std::int64_t>> figures;  // for programs: what the help says in words
};

// A kind, and what there is of it.
using ListSection = std::pair<const char*, std::function<std::vector<ListEntry>()>>;

const std::vector<ListSection>& list_sections();

}  // namespace servetwin
