// Drives the lines of a file through its format: order, bad rows, sorting, identity.
#include "engine/workload/traces/trace_reader.h"

#include <algorithm>
#include <utility>

#include "engine/base/text.h"
#include "engine/base/unit_text.h"
#include "engine/workload/traces/trace_error.h"

namespace servetwin {
namespace {

std::string base_name(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

}  // namespace

TraceReader::TraceReader(OpenedBytes bytes, std::string name, const TraceSpec& spec)
    : spec_(spec), compression_(bytes.compression), lines_(std::move(bytes.reader), std::move(name)) {
  std::string_view line;
  if (!lines_.next(line)) {
    throw trace_error(kCodeTraceEmpty, lines_.name(), 0, "the trace is empty", "name a file with requests");
  }
  detected_ = detect_format(spec_, line, lines_.name(), lines_.line_number());
  if (!detected_.first_line_is_header) pending_line_ = line;
}

bool TraceReader::next(TraceRow& row) {
  if (!spec_.sort) return next_in_file_order(row);
  if (!loaded_) load_sorted();
  if (next_sorted_ == sorted_.size()) return false;
  row = std::move(sorted_[next_sorted_++]);
  return true;
}

bool TraceReader::next_in_file_order(TraceRow& row) {
  if (!parse_next(row)) return false;
  if (previous_line_ > 0 && row.time_ns < previous_ns_) unsorted(row);
  previous_ns_ = row.time_ns;
  previous_line_ = row.line;
  return true;
}

void TraceReader::load_sorted() {
  loaded_ = true;
  TraceRow row;
  while (parse_next(row)) sorted_.push_back(row);
  std::stable_sort(sorted_.begin(), sorted_.end(),
                   [](const TraceRow& a, const TraceRow& b) { return a.time_ns < b.time_ns; });
}

bool TraceReader::parse_next(TraceRow& row) {
  std::string_view line = std::exchange(pending_line_, {});
  while (!line.empty() || lines_.next(line)) {
    row.line = lines_.line_number();
    ++rows_;
    const RowOutcome outcome = detected_.format->parse(line, row);
    if (outcome.verdict == RowVerdict::kGood) return true;
    if (outcome.verdict == RowVerdict::kFailedThere) {
      ++failed_rows_;
    } else {
      reject(row, outcome.message, outcome.remedy);
    }
    line = {};
  }
  return false;
}

void TraceReader::reject(const TraceRow& row, const std::string& message, const std::string& remedy) {
  const ConfigError error = trace_error(kCodeTraceRow, lines_.name(), row.line, message, remedy);
  if (spec_.on_bad_row == OnBadRow::kError) throw error;
  if (bad_rows_ == 0) first_bad_ = error.what();
  ++bad_rows_;
}

void TraceReader::unsorted(const TraceRow& row) const {
  throw trace_error(kCodeTraceUnsorted, lines_.name(), row.line,
                    "the time is " + format_duration(Duration{previous_ns_ - row.time_ns}) +
                        " before that of line " + std::to_string(previous_line_),
                    "sort the file, or set sort: true");
}

std::vector<std::string> TraceReader::notes() const {
  const bool forced = spec_.format != TraceFormatKind::kAuto;
  std::vector<std::string> notes{std::string("format ") + to_string(detected_.kind) +
                                 (forced ? " (as told), " : " (detected), ") + to_string(compression_) +
                                 ", times in " + detected_.format->time_unit()};
  if (failed_rows_ > 0) {
    notes.push_back(format_grouped(failed_rows_) +
                    " rows left out: 0 response tokens, the request had failed");
  }
  if (bad_rows_ > 0) {
    notes.push_back(format_grouped(bad_rows_) + " bad rows left out; the first: " + first_bad_);
  }
  return notes;
}

std::string TraceReader::identity() const {
  return base_name(lines_.name()) + ", " + to_string(detected_.kind) + ", " + format_number(lines_.bytes()) +
         " bytes, " + format_number(rows_) + " rows, digest " + to_hex(lines_.digest());
}

}  // namespace servetwin
