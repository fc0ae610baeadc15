// Builds configuration trees in tests, as a loader would from YAML, and sources from them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/config_node.h"
#include "engine/workload/workload_spec.h"

namespace servetwin {

inline ConfigNode text(const std::string& value) {
  ConfigNode node;
  node.kind = ConfigNode::Kind::kScalar;
  node.text = value;
  return node;
}

using Entries = std::vector<std::pair<std::string, ConfigNode>>;

inline ConfigNode map_of(Entries entries) {
  ConfigNode node;
  node.kind = ConfigNode::Kind::kMap;
  node.entries = std::move(entries);
  return node;
}

inline ConfigNode list(std::vector<ConfigNode> items) {
  ConfigNode node;
  node.kind = ConfigNode::Kind::kList;
  node.items = std::move(items);
  return node;
}

inline ConfigNode lengths(const std::string& input, const std::string& output) {
  return map_of({{"input", text(input)}, {"output", text(output)}});
}

inline std::unique_ptr<RequestSource> source_of(const ConfigNode& node, std::uint64_t seed = 1) {
  return make_source(read_workload(node, ""), seed);
}

// All items of a source whose requests end nowhere.
inline std::vector<WorkloadItem> take_all(RequestSource& source) {
  std::vector<WorkloadItem> items;
  WorkloadItem item;
  while (source.next_arrival() != kTimeNever) {
    source.take(item);
    items.push_back(item);
  }
  return items;
}

inline RequestRecord ended(const WorkloadItem& item, Duration after, EndState state = EndState::kStop) {
  RequestRecord record;
  record.id = item.spec.id;
  record.end_state = state;
  record.outputs = is_finished(state) ? item.truth.output : Tokens{};
  record.arrival = item.spec.arrival;
  record.end = item.spec.arrival + after;
  return record;
}

// What the error says that the call throws; empty where it throws none.
template <class Call>
std::string error_of(const Call& call) {
  try {
    call();
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

}  // namespace servetwin
