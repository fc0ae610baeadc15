// Whole files are held: tables of measurements have tens of thousands of rows, not millions.
#include "engine/base/csv_table.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "engine/base/params.h"
#include "engine/base/text.h"
#include "engine/base/unit_text.h"

namespace servetwin {
namespace {

[[noreturn]] void fail(SourcePlace place, const std::string& message, const std::string& remedy = "") {
  throw ConfigError(Problem{kCodeBadValue, std::move(place), "", message, remedy});
}

}  // namespace

CsvTable CsvTable::read(const std::string& file) {
  std::error_code unknown;
  const auto status = std::filesystem::status(file, unknown);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
    fail({file, 0, 0}, "is no regular file", "give a CSV file with a header line");
  std::ifstream in(file);
  if (!in) fail({file, 0, 0}, "cannot be read", "give a CSV file with a header line");
  CsvTable table;
  table.file_ = file;
  std::string text;
  for (int line = 1; std::getline(in, text); ++line) {
    if (text.empty() || text == "\r" || text.front() == '#') continue;
    std::vector<std::string> cells = split_csv_line(text);
    if (table.names_.empty()) {
      table.names_ = std::move(cells);
      continue;
    }
    if (cells.size() != table.names_.size()) {
      fail({file, line, 0}, "has " + std::to_string(cells.size()) + " cells, and the header " +
                                std::to_string(table.names_.size()));
    }
    table.rows_.push_back({line, std::move(cells)});
  }
  if (table.rows_.empty()) fail({file, 0, 0}, "holds no row");
  return table;
}

bool CsvTable::has_column(const std::string& name) const {
  return std::find(names_.begin(), names_.end(), name) != names_.end();
}

std::size_t CsvTable::column(const std::string& name) const {
  const auto found = std::find(names_.begin(), names_.end(), name);
  if (found == names_.end()) fail({file_, 1, 0}, "has no column " + name, "it has " + join(names_, ", "));
  return static_cast<std::size_t>(found - names_.begin());
}

double CsvTable::number(std::size_t row, std::size_t column) const {
  const auto parsed = parse_decimal(text(row, column));
  if (!parsed) fail(place(row), names_[column] + ": " + parsed.message, parsed.remedy);
  return *parsed.value;
}

std::int64_t CsvTable::whole(std::size_t row, std::size_t column) const {
  const auto parsed = parse_integer(text(row, column));
  if (!parsed) fail(place(row), names_[column] + ": " + parsed.message, parsed.remedy);
  return *parsed.value;
}

}  // namespace servetwin
