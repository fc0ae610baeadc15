// Trace sources over text in memory, for tests of readers.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/workload/trace_source.h"
#include "tests/workload/nodes.h"

namespace servetwin {

inline TraceParts trace_parts(const TraceSpec& spec = {}) {
  TraceParts parts;
  parts.spec = spec;
  parts.classes.emplace_back(TrafficSpec{}, ClassId{0}, 0U, 1U);
  parts.class_names = {"default"};
  return parts;
}

// The bytes must outlive the source.
inline std::unique_ptr<TraceSource> trace_of(std::string_view bytes, const TraceSpec& spec = {}) {
  return std::make_unique<TraceSource>(decompressed(read_memory(bytes), "t"), "t", trace_parts(spec));
}

inline std::vector<WorkloadItem> rows_of(std::string_view bytes, const TraceSpec& spec = {}) {
  const auto source = trace_of(bytes, spec);
  return take_all(*source);
}

// What reading to the end says; empty where nothing is wrong.
inline std::string trace_error_of(std::string_view bytes, const TraceSpec& spec = {}) {
  return error_of([&] { rows_of(bytes, spec); });
}

inline const std::string kCsvHeader = "arrival_s,input_tokens,output_tokens\n";

}  // namespace servetwin
