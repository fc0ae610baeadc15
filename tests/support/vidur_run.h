// The requests of a recorded run of Vidur, and the engine that schedules as its Sarathi scheduler does.
#pragma once

#include <fstream>
#include <string>
#include <vector>

#include "engine/base/check.h"
#include "engine/base/registry.h"
#include "engine/base/text.h"
#include "engine/base/unit_text.h"
#include "engine/serving/config.h"
#include "engine/workload/source.h"

namespace servetwin::test {

// requests.csv of `run`: request_id, arrived_at_s, prompt_tokens, output_tokens. Arrivals are rounded to the
// nanosecond; every request asks for exactly the tokens it gets.
inline std::vector<WorkloadItem> vidur_requests(const std::string& run) {
  std::ifstream in(run + "/requests.csv");
  std::vector<WorkloadItem> items;
  std::string line;
  std::getline(in, line);
  CHECK_INVARIANT(line == "request_id,arrived_at_s,prompt_tokens,output_tokens", run, line);
  while (std::getline(in, line)) {
    const std::vector<std::string> cells = split_csv_line(line);
    WorkloadItem item;
    item.spec.id = RequestId{static_cast<std::uint32_t>(*parse_integer(cells.at(0)).value)};
    item.spec.arrival = kTimeZero + duration_from_seconds(*parse_decimal(cells.at(1)).value);
    item.spec.prompt = Tokens{*parse_integer(cells.at(2)).value};
    item.truth.output = Tokens{*parse_integer(cells.at(3)).value};
    item.spec.max_tokens = item.truth.output;
    items.push_back(item);
  }
  return items;
}

// Chunk 512, at most 128 requests, 1 % of the blocks kept free; the pool counts the null block.
inline EngineConfig vidur_sarathi(std::int64_t num_blocks) {
  EngineConfig config;
  config.max_num_batched_tokens = Tokens{512};
  config.max_num_seqs = 128;
  config.max_model_len = Tokens{4096};
  config.num_blocks = Blocks{num_blocks + 1};
  config.prefix_caching = false;
  config.watermark = 0.01;
  return config;
}

}  // namespace servetwin::test
