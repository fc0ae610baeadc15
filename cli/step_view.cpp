// Bars on top, then sections that share the lines there are: batch, who is left out, KV blocks, events.
#include "cli/step_view.h"

#include <algorithm>
#include <fmt/format.h>
#include <string>

#include "cli/block_map.h"
#include "engine/base/text.h"

namespace servetwin {
namespace {

constexpr std::size_t kTwoColumns = 120;  // from this width on
constexpr std::size_t kLeftColumn = 76;
constexpr std::size_t kMapLines = 8;  // where there is room

struct Section {
  std::vector<StyledLine> head;
  std::vector<StyledLine> lines;
  std::size_t must_show = 0;  // one of the lines

  std::size_t size() const { return head.size() + lines.size(); }
};

std::string bar(std::int64_t first, std::int64_t second, std::int64_t whole, std::size_t width) {
  const auto cells = [&](std::int64_t part) {
    const auto count =
        static_cast<std::size_t>(part) * width / static_cast<std::size_t>(std::max<std::int64_t>(whole, 1));
    return std::min(std::max<std::size_t>(count, part > 0 ? 1 : 0), width);
  };
  const std::size_t used = cells(first);
  const std::size_t marked = std::min(cells(second), width - used);
  return '[' + std::string(used, '#') + std::string(marked, ':') + std::string(width - used - marked, '.') +
         ']';
}

std::vector<StyledLine> head_of(const StepFrame& frame, const StepView& view) {
  const std::size_t room = std::clamp<std::size_t>(view.width / 3, 4, 40);
  const std::int64_t blocks = frame.used_blocks + frame.free_blocks;
  const std::string of_last = view.last ? fmt::format(" of {}", raw(*view.last)) : "";
  const std::string took =
      frame.ended == kTimeNever
          ? ", not ended"
          : fmt::format(", took {:.3f} ms", to_milliseconds(frame.ended - frame.planned));
  std::vector<StyledLine> lines;
  lines.push_back({{fmt::format("step {}{}", raw(frame.step), of_last), TextStyle::kTitle},
                   {fmt::format("  replica {}, planned at {:.6f} s{}", raw(frame.replica),
                                to_seconds(frame.planned), took)}});
  lines.push_back({{fmt::format("tokens   {} {} of {}", bar(frame.tokens, 0, frame.max_tokens, room),
                                format_grouped(frame.tokens), format_grouped(frame.max_tokens))}});
  lines.push_back(
      {{fmt::format("running  {} {} of {}, {} waiting", bar(frame.running, 0, frame.max_running, room),
                    frame.running, frame.max_running, format_grouped(frame.waiting))}});
  lines.push_back({{fmt::format(
      "blocks   {} {} of {} held, {} cached", bar(frame.used_blocks, frame.cached_blocks, blocks, room),
      format_grouped(frame.used_blocks), format_grouped(blocks), format_grouped(frame.cached_blocks))}});
  if (view.followed == kNoRequest) return lines;
  const std::string becomes = frame.becomes_of(view.followed);
  const std::string text = fmt::format("> request {}: {}", raw(view.followed),
                                       becomes.empty() ? "not here in this step" : becomes);
  for (const std::string& line : wrapped(text, view.width, 2))
    lines.push_back({{line, TextStyle::kFollowed}});
  return lines;
}

StyledLine list_line(bool followed, const std::string& text) {
  return {{(followed ? "> " : "  ") + text, followed ? TextStyle::kFollowed : TextStyle::kPlain}};
}

Section batch_of(const StepFrame& frame, const StepView& view) {
  Section section;
  section.head.push_back(
      {{fmt::format("batch: {} request{}", frame.rows.size(), frame.rows.size() == 1 ? "" : "s"),
        TextStyle::kTitle}});
  section.head.push_back({{"  request  phase       tokens  context  prompt  output  blocks  shared  map"}});
  for (const FrameRow& row : frame.rows) {
    const bool followed = row.request == view.followed;
    if (followed) section.must_show = section.lines.size();
    section.lines.push_back(list_line(
        followed,
        fmt::format("{:>7}  {:<10}  {:>6}  {:>7}  {:>6}  {:>6}  {:>6}  {:>6}  {}", raw(row.request),
                    to_string(row.phase), row.tokens.value, row.context.value, row.prompt.value,
                    row.outputs.value, row.blocks.value, row.shared.value, letter_of(row.request))));
  }
  return section;
}

Section held_of(const StepFrame& frame, const StepView& view) {
  Section section;
  const auto running = std::count_if(frame.held.begin(), frame.held.end(),
                                     [](const FrameHeld& one) { return one.held.running; });
  const std::int64_t waiting = static_cast<std::int64_t>(frame.held.size()) - running;
  section.head.push_back(
      {{fmt::format("left out: {} running, {} waiting", running, waiting), TextStyle::kTitle}});
  for (const FrameHeld& one : frame.held) {
    const bool followed = one.held.request == view.followed;
    if (followed) section.must_show = section.lines.size();
    section.lines.push_back(
        list_line(followed, fmt::format("{:>7}  {:>6} + {:<6}  {}", raw(one.held.request), one.prompt.value,
                                        one.outputs.value, in_words(one.held))));
  }
  if (!frame.held.empty()) section.head.push_back({{"  request  prompt + output  why"}});
  return section;
}

Section map_of(const StepFrame& frame, const StepView& view, std::size_t width, std::size_t height) {
  const std::size_t rows = std::min(kMapLines, std::max<std::size_t>(height, 1));
  const BlockMap map = block_map(frame, view.followed, width > 2 ? width - 2 : 1, rows);
  Section section;
  section.head.push_back(
      {{map.per_cell == 1 ? "KV blocks" : fmt::format("KV blocks, {} a cell", map.per_cell),
        TextStyle::kTitle},
       {": a-z by whom, 2-9+ shared by, : cached, . free"}});
  section.lines = map.lines;
  return section;
}

Section events_of(const StepFrame& frame, std::size_t width) {
  Section section;
  section.head.push_back({{frame.events.empty() ? "since the step before: nothing" : "since the step before",
                           TextStyle::kTitle}});
  for (const FrameEvent& event : frame.events) {
    const std::string text = fmt::format("  {:.6f} s  {}", to_seconds(event.time), event.text);
    for (const std::string& line : wrapped(text, width, 4))
      section.lines.push_back({{line, event.alarming ? TextStyle::kAlarm : TextStyle::kPlain}});
  }
  return section;
}

// Lines for each section, given out in turn until there are no more or none is wanted.
std::vector<std::size_t> shares(const std::vector<Section>& sections, std::size_t room) {
  std::vector<std::size_t> given(sections.size(), 0);
  for (bool gave = true; gave;) {
    gave = false;
    for (std::size_t i = 0; i < sections.size() && room > 0; ++i) {
      if (given[i] == sections[i].size()) continue;
      ++given[i];
      --room;
      gave = true;
    }
  }
  return given;
}

// As many of its lines as that, those around the one that must be shown; the last says what is missing.
void append(const Section& section, std::size_t count, std::vector<StyledLine>& lines) {
  const std::size_t heads = std::min(count, section.head.size());
  lines.insert(lines.end(), section.head.begin(), section.head.begin() + static_cast<std::ptrdiff_t>(heads));
  count -= heads;
  const std::size_t all = section.lines.size();
  if (count == 0 && all > 0) return;
  const std::size_t shown = all <= count ? all : count - 1;
  const std::size_t first = section.must_show < shown ? 0 : section.must_show + 1 - shown;
  const auto begin = section.lines.begin() + static_cast<std::ptrdiff_t>(shown == 0 ? 0 : first);
  lines.insert(lines.end(), begin, begin + static_cast<std::ptrdiff_t>(shown));
  if (shown == all) return;
  const std::size_t above = shown == 0 ? 0 : first;
  lines.push_back({{above == 0 ? fmt::format("  and {} more", all - shown)
                               : fmt::format("  and {} above, {} below", above, all - shown - above)}});
}

std::vector<StyledLine> column_of(const std::vector<Section>& sections, std::size_t height) {
  std::size_t wanted = 0;
  for (const Section& section : sections) wanted += section.size();
  const bool airy = height == 0 || wanted + sections.size() <= height;
  const std::vector<std::size_t> given = shares(sections, airy ? wanted : height);
  std::vector<StyledLine> lines;
  for (std::size_t i = 0; i < sections.size(); ++i) {
    if (airy) lines.emplace_back();
    append(sections[i], given[i], lines);
  }
  return lines;
}

}  // namespace

std::vector<StyledLine> lines_of(const StepFrame& frame, const StepView& view) {
  std::vector<StyledLine> lines = head_of(frame, view);
  const bool two = view.width >= kTwoColumns;
  const std::size_t left = two ? kLeftColumn : view.width;
  const std::size_t right = two ? view.width - kLeftColumn - 1 : view.width;
  const std::size_t room = view.height > lines.size() ? view.height - lines.size() : 1;
  const std::size_t height = view.height == 0 ? 0 : room;
  const Section map = map_of(frame, view, left, height == 0 ? kMapLines : height / 5);
  std::vector<StyledLine> below;
  if (two) {
    below = column_of({batch_of(frame, view), map}, height);
    const std::vector<StyledLine> beside_it =
        column_of({held_of(frame, view), events_of(frame, right)}, height);
    below.resize(std::max(below.size(), beside_it.size()));
    for (std::size_t i = 0; i < beside_it.size(); ++i)
      below[i] = beside(below[i], beside_it[i], kLeftColumn + 1);
  } else {
    below =
        column_of({batch_of(frame, view), held_of(frame, view), map, events_of(frame, view.width)}, height);
  }
  lines.insert(lines.end(), below.begin(), below.end());
  for (StyledLine& line : lines) line = clipped(line, view.width);
  if (view.height > 0 && lines.size() > view.height) lines.resize(view.height);
  return lines;
}

}  // namespace servetwin
