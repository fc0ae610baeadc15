// Fuzz target of the trace reader: Mooncake's JSON lines; bad rows end it.
#include "tests/fuzz/trace_text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  servetwin::TraceSpec spec;
  spec.format = servetwin::TraceFormatKind::kMooncakeJsonl;
  servetwin::read_trace(data, size, spec);
  return 0;
}
