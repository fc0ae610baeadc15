// What loads showed, row by row: in memory, and as a CSV file that only grows.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "calibrate/endpoint/load_plan.h"

namespace servetwin {

// kPrompt: the time to the first token. kDecode: the time between tokens of all. kMixed: the same while a
// prompt joins. kCapacity: one look at how full the KV cache is, or one wave's bounds.
struct LoadRow {
  std::int64_t sweep = 0;
  std::int64_t point = 0;  // number_of() the load
  LoadPhase phase = LoadPhase::kPrompt;
  std::int64_t requests = 0;  // that decode
  double context = 0;         // keys that they read in a step together, in the mean
  std::int64_t prompt = 0;    // tokens computed of the prompt in question, without those cached
  std::int64_t cached = 0;
  std::int64_t steps = 1;  // in which that prompt was computed
  double ns = 0;
  double usage = 0;        // kCapacity: of the KV cache; 0: not told
  double low_tokens = 0;   // kCapacity: at least so many tokens were resident
  double high_tokens = 0;  // and at most; with usage 0: did not fit, 0 where nobody waited

  friend bool operator==(const LoadRow&, const LoadRow&) = default;
};

// Of which server and model rows are.
struct LoadSubject {
  std::string url;
  std::string server;
  std::string model;
};

class LoadRowsFile {
 public:
  // Reads what is there; a last line without its end is dropped. Throws ConfigError (CAL103) where rows are
  // of another server, version or model, or no such rows.
  LoadRowsFile(std::string path, LoadSubject subject, std::string date);

  const std::vector<LoadRow>& rows() const { return rows_; }
  bool has(std::int64_t sweep, std::int64_t point) const;
  // Writes it at once. Throws IoError.
  void append(const LoadRow& row);

 private:
  void read();
  LoadRow row_of(const std::vector<std::string>& cells, int line) const;
  [[noreturn]] void fail(int line, const std::string& message) const;

  std::string path_;
  LoadSubject subject_;
  std::string date_;
  std::vector<LoadRow> rows_;
  std::ofstream out_;
};

}  // namespace servetwin
