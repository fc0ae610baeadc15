// Fuzz target of the trace reader: detected format, bad rows skipped, sorted, scaled and windowed.
#include "tests/fuzz/trace_text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  servetwin::TraceSpec spec;
  spec.on_bad_row = servetwin::OnBadRow::kSkip;
  spec.sort = true;
  spec.time_scale = 3;
  spec.rate_scale = 0.5;
  spec.start = servetwin::Duration{5};
  servetwin::read_trace(data, size, spec);
  return 0;
}
