// Ten kernels of the textbooks, and a few with a fault each: what the emulator itself is tested with.
#pragma once

#include <cstdint>

#include "kernels/attention/kv_elements.h"

namespace servetwin::textbook {

// Sum of `size` numbers into *total, blocks by atomics.
void reduce(const float* from, int size, float* total);
// Inclusive prefix sums of a block's numbers, at most 1,024.
void scan(const int* from, int size, int* to);
void transpose(const float* from, int rows, int columns, float* to);
// Counts of the values 0 … 63.
void histogram(const int* from, int size, unsigned* counts);
// c[m][n] = a[m][k] · b[k][n].
void multiply_tiles(const float* a, const float* b, int m, int n, int k, float* c);
// The same from half-precision bits; sizes are multiples of 16.
void multiply_fragments(const std::uint16_t* a, const std::uint16_t* b, int m, int n, int k, float* c);
// Keeps the positive numbers in order, at most 1,024; *count of them.
void compact(const int* from, int size, int* to, int* count);
// to[i] = from[size − 1 − i] by way of shared memory; at most 1,024.
void reverse(const int* from, int size, int* to);
// to[i] += a · from[i], with fewer threads than elements.
void add_scaled(float a, const float* from, int size, float* to);
// How many of `size` numbers exceed all before them in their warp; largest of all in *largest.
void count_records(const int* from, int size, unsigned* count, int* largest);

// Each breaks one rule; the test names the line.
enum class Wrong {
  kRace,              // neighbours are read without a barrier
  kGlobalRace,        // two blocks write the same number
  kLaneRace,          // lanes exchange through shared memory without __syncwarp
  kUnwritten,         // shared memory is read that nobody wrote
  kBeyondBuffer,      // a write behind the end of an array
  kBeyondShared,      // a read behind the end of dynamic shared memory
  kDivergentBarrier,  // half of a block takes another barrier
  kMissedBarrier,     // threads end before a barrier
  kDeadlock,          // lanes wait for a lane that waits for them
  kMixedOperations,   // lanes meet in a vote and a shuffle
  kForeignMask,       // a lane takes part that is not in the mask
  kAbsentSource       // a shuffle from a lane outside of the mask
};
void break_rule(Wrong wrong, int* numbers);
// The line of textbook/faults.cu at which that is seen.
int faulty_line(Wrong wrong);

}  // namespace servetwin::textbook
