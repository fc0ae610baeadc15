// Tables of operation times as CSV files hold them: columns of numbers, and times by ranges.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace servetwin {

// A header line, then a row of numbers each; lines that begin with # are comments.
struct NumberTable {
  std::string file;
  std::vector<std::string> names;
  std::vector<std::vector<double>> columns;  // in the order of names
  std::uint64_t hash = 0;                    // of every line but comments

  std::size_t num_rows() const { return columns.front().size(); }
  // Throws ConfigError, naming file and column, when there is none of that name.
  const std::vector<double>& column(const std::string& name) const;
};

// Throws ConfigError with file and line for whatever is no table of finite numbers from 0 on.
NumberTable read_number_table(const std::string& file);

// Times by group and, within a group, by ranges of a second number.
class RangeTimes {
 public:
  // Of the columns so named; ranges include both ends. Throws ConfigError for ranges that overlap.
  RangeTimes(const NumberTable& table,
             const std::string& group,
             const std::string& from,
             const std::string& to,
             const std::string& time);

  // Where the table has no such entry an invariant is broken.
  double at(std::int64_t group, std::int64_t value) const;
  std::int64_t last_group() const { return rows_.back().group; }
  std::int64_t last_value() const { return rows_.back().to; }  // in the last group

 private:
  struct Row {
    std::int64_t group = 0;
    std::int64_t from = 0;
    std::int64_t to = 0;
    double time = 0;
  };

  std::string file_;
  std::vector<Row> rows_;  // by group, then by range
};

}  // namespace servetwin
