// Each cell counts its blocks by what they are.
#include "cli/block_map.h"

#include <algorithm>
#include <utility>

namespace servetwin {
namespace {

struct Symbol {
  char letter = '.';
  bool followed = false;
  friend bool operator==(const Symbol&, const Symbol&) = default;
};

using Cell = std::vector<std::pair<Symbol, std::int64_t>>;

Symbol symbol_of(const KvRange& range, RequestId followed) {
  if (range.refs == 0) return {range.cached ? ':' : '.', false};
  const char letter = range.refs == 1   ? letter_of(range.request)
                      : range.refs <= 9 ? static_cast<char>('0' + range.refs)
                                        : '+';
  return {letter, range.request == followed};
}

void count(Cell& cell, const Symbol& symbol, std::int64_t blocks) {
  const auto known =
      std::find_if(cell.begin(), cell.end(), [&](const auto& one) { return one.first == symbol; });
  if (known == cell.end()) {
    cell.emplace_back(symbol, blocks);
  } else {
    known->second += blocks;
  }
}

std::vector<Cell> cells_of(const StepFrame& frame, RequestId followed, std::int64_t per_cell) {
  std::vector<Cell> cells;
  std::int64_t position = 0;
  for (const KvRange& range : frame.blocks) {
    const Symbol symbol = symbol_of(range, followed);
    for (std::int64_t left = range.size(); left > 0;) {
      if (position % per_cell == 0) cells.emplace_back();
      const std::int64_t part = std::min(left, per_cell - position % per_cell);
      count(cells.back(), symbol, part);
      position += part;
      left -= part;
    }
  }
  return cells;
}

// The first of equals.
Symbol most_of(const Cell& cell) {
  return std::max_element(cell.begin(), cell.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

}  // namespace

BlockMap block_map(const StepFrame& frame, RequestId followed, std::size_t columns, std::size_t rows) {
  const std::int64_t blocks = frame.used_blocks + frame.free_blocks;
  const auto room = static_cast<std::int64_t>(columns * rows);
  BlockMap map;
  map.per_cell = std::max<std::int64_t>((blocks + room - 1) / room, 1);
  const std::vector<Cell> cells = cells_of(frame, followed, map.per_cell);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i % columns == 0) map.lines.push_back({{"  "}});
    const Symbol symbol = most_of(cells[i]);
    const TextStyle style = symbol.followed ? TextStyle::kFollowed : TextStyle::kPlain;
    StyledLine& line = map.lines.back();
    if (line.back().style != style) line.push_back({"", style});
    line.back().text += symbol.letter;
  }
  return map;
}

}  // namespace servetwin
