// The scheduler on the operation times of a recorded run of Vidur.
#pragma once

namespace servetwin {

// words: the run's folder, its folder of operation tables, and how many requests; the run is repeated until
// there are so many. Prints figures and returns an exit status.
int vidur_bench(int count, char** words);

}  // namespace servetwin
