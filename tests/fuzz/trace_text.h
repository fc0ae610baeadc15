// Reads bytes as a trace to the end, as a fuzz target does: bad input may be refused, nothing else may
// happen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/base/check.h"
#include "engine/base/error.h"
#include "engine/workload/trace_source.h"

namespace servetwin {

inline void read_trace(const std::uint8_t* data, std::size_t size, const TraceSpec& spec) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  try {
    ExpansionLimits limits;
    limits.max_bytes = 1 << 20;  // small, so that inputs that expand are as fast as the others
    TraceParts parts;
    parts.spec = spec;
    parts.classes.emplace_back(TrafficSpec{}, ClassId{0}, 0U, 1U);
    parts.class_names = {"default"};
    TraceSource source(decompressed(read_memory(bytes), "input", limits), "input", std::move(parts));
    WorkloadItem item;
    Time previous = kTimeZero;
    while (source.next_arrival() != kTimeNever) {
      source.take(item);
      CHECK_INVARIANT(item.spec.arrival >= previous);
      CHECK_INVARIANT(item.spec.prompt.value > 0);
      CHECK_INVARIANT(item.truth.output.value > 0);
      previous = item.spec.arrival;
      Tokens content{};
      for (const ContentSegment& segment : item.spec.content) content += segment.length;
      CHECK_INVARIANT(item.spec.content.empty() || content == item.spec.prompt);
    }
  } catch (const ConfigError&) {
  }
}

}  // namespace servetwin
