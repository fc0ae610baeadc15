// What a server tells of itself in the Prometheus text format, under the names of several engines.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace servetwin {

// Sums over its engines, of usage the mean; empty where the text does not have it.
struct ServerMetrics {
  std::optional<double> running;
  std::optional<double> waiting;
  std::optional<double> kv_usage;  // 1: all of it
  std::optional<double> preemptions;
  std::optional<double> steps;
  std::optional<std::int64_t> block_size;
  std::optional<std::int64_t> num_blocks;  // as the server states them, a null block among them
  int engines = 0;                         // that tell their usage, or what is running
};

ServerMetrics server_metrics(const std::string& text);

}  // namespace servetwin
