// Time of an all-reduce between threads of this machine. Prints figures.
#pragma once

namespace servetwin {

// Words: options. Returns the exit status.
int collectives_bench(int count, char** words);

}  // namespace servetwin
