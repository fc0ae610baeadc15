// A table as a CSV file holds it: a header line, then a row a line, read strictly.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/error.h"

namespace servetwin {

// Cells are text; a reader asks for them by column name and row. All of it throws ConfigError naming file,
// line and column.
class CsvTable {
 public:
  // Lines that are empty or begin with # are left out. A row needs as many cells as the header has.
  static CsvTable read(const std::string& file);

  std::size_t num_rows() const { return rows_.size(); }
  const std::string& file() const { return file_; }
  bool has_column(const std::string& column) const;
  // Its place among the header's names.
  std::size_t column(const std::string& name) const;

  const std::string& text(std::size_t row, std::size_t column) const { return rows_[row].cells[column]; }
  bool is_blank(std::size_t row, std::size_t column) const { return text(row, column).empty(); }
  // A finite number.
  double number(std::size_t row, std::size_t column) const;
  std::int64_t whole(std::size_t row, std::size_t column) const;

  const std::string& text(std::size_t row, const std::string& name) const { return text(row, column(name)); }
  double number(std::size_t row, const std::string& name) const { return number(row, column(name)); }
  std::int64_t whole(std::size_t row, const std::string& name) const { return whole(row, column(name)); }

  SourcePlace place(std::size_t row) const { return {file_, rows_[row].line, 0}; }

 private:
  struct Row {
    int line = 0;
    std::vector<std::string> cells;
  };

  std::string file_;
  std::vector<std::string> names_;
  std::vector<Row> rows_;
};

}  // namespace servetwin
