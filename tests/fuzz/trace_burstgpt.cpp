// Fuzz target of the trace reader: BurstGPT's CSV; bad rows end it.
#include "tests/fuzz/trace_text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  servetwin::TraceSpec spec;
  spec.format = servetwin::TraceFormatKind::kBurstGptCsv;
  servetwin::read_trace(data, size, spec);
  return 0;
}
