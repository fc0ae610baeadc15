// The good rows of a trace file in order, one at a time; what is wrong with the others is counted or thrown.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/workload/traces/line_reader.h"
#include "engine/workload/traces/trace_format.h"

namespace servetwin {

class TraceReader {
 public:
  // Opens the trace, recognises its format, and checks that there is something in it.
  TraceReader(OpenedBytes bytes, std::string name, const TraceSpec& spec);

  // False at the end. Throws ConfigError at a bad row (unless they are skipped) and where time runs
  // backwards.
  bool next(TraceRow& row);

  // Beside the reader's own rules: a row that its user cannot take, handled as the reader's bad rows are.
  void reject(const TraceRow& row, const std::string& message, const std::string& remedy);

  std::int64_t rows() const { return rows_; }  // all rows read, bad ones included
  std::int64_t skipped() const { return bad_rows_ + failed_rows_; }
  std::vector<std::string> notes() const;
  // Name without folders, format, bytes, rows and digest of what was read so far.
  std::string identity() const;

 private:
  bool next_in_file_order(TraceRow& row);
  bool parse_next(TraceRow& row);
  void load_sorted();
  [[noreturn]] void unsorted(const TraceRow& row) const;

  TraceSpec spec_;
  Compression compression_;
  LineReader lines_;
  DetectedFormat detected_;
  std::string_view pending_line_;  // the first line where it is no header
  std::vector<TraceRow> sorted_;   // with spec_.sort only
  std::size_t next_sorted_ = 0;
  bool loaded_ = false;
  std::int64_t previous_ns_ = 0;
  std::int64_t previous_line_ = 0;
  std::int64_t rows_ = 0;
  std::int64_t bad_rows_ = 0;
  std::int64_t failed_rows_ = 0;
  std::string first_bad_;
};

}  // namespace servetwin
