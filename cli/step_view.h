// A frame as lines of text, for any size of the terminal.
#pragma once

#include <optional>
#include <vector>

#include "cli/step_frame.h"
#include "cli/styled_text.h"

namespace servetwin {

struct StepView {
  std::size_t width = 80;
  std::size_t height = 0;           // 0: as many lines as it takes
  RequestId followed = kNoRequest;  // marked, and shown wherever it stands
  std::optional<StepId> last;       // step of the run, where known
};

std::vector<StyledLine> lines_of(const StepFrame& frame, const StepView& view);

}  // namespace servetwin
