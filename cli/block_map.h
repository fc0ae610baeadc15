// The KV pool as a picture: one character for so many blocks.
#pragma once

#include <cstdint>
#include <vector>

#include "cli/step_frame.h"
#include "cli/styled_text.h"

namespace servetwin {

// a to z: requests that are 26 apart have the same.
constexpr char letter_of(RequestId request) { return static_cast<char>('a' + raw(request) % 26); }

struct BlockMap {
  std::int64_t per_cell = 1;  // blocks
  std::vector<StyledLine> lines;
};

// At most `rows` lines of `columns` characters after an indent of two. Blocks stand by who computed them: its
// letter where one request holds them, the number of those that hold them (+: more than 9) where several do,
// ':' for what is free and still cached, '.' for what is free. A cell shows what most of its blocks are.
// Those that `followed` computed are emphasised.
BlockMap block_map(const StepFrame& frame, RequestId followed, std::size_t columns, std::size_t rows);

}  // namespace servetwin
