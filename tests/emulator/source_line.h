// From an address of the code to its line, for messages.
#pragma once

#include <string>

namespace servetwin::emulator {

// "file.cu:12", by addr2line and the program's line tables; without them the address itself.
std::string source_line(const void* caller);

}  // namespace servetwin::emulator
