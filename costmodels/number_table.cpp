// Reads tables strictly: a misread time would be a wrong result that looks right.
#include "costmodels/number_table.h"

#include <algorithm>
#include <fstream>
#include <tuple>

#include "engine/base/check.h"
#include "engine/base/digest.h"
#include "engine/base/error.h"
#include "engine/base/params.h"
#include "engine/base/text.h"
#include "engine/base/unit_text.h"

namespace servetwin {
namespace {

[[noreturn]] void fail(const std::string& file,
                       int line,
                       const std::string& message,
                       const std::string& remedy = "") {
  throw ConfigError(Problem{kCodeBadValue, {file, line, 0}, "", message, remedy});
}

void add_row(NumberTable& table, const std::vector<std::string>& cells, int line) {
  if (cells.size() != table.names.size()) {
    fail(table.file, line,
         "has " + std::to_string(cells.size()) + " cells, not " + std::to_string(table.names.size()));
  }
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const auto number = parse_decimal(cells[i]);
    if (!number) fail(table.file, line, table.names[i] + ": " + number.message, number.remedy);
    if (*number.value < 0) fail(table.file, line, table.names[i] + " is negative");
    table.columns[i].push_back(*number.value);
  }
}

}  // namespace

const std::vector<double>& NumberTable::column(const std::string& name) const {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) fail(file, 1, "has no column " + name, "it has " + join(names, ", "));
  return columns[static_cast<std::size_t>(found - names.begin())];
}

NumberTable read_number_table(const std::string& file) {
  std::ifstream in(file);
  if (!in) fail(file, 0, "cannot be read", "file names start at the scenario's folder");
  NumberTable table;
  table.file = file;
  Digest digest;
  std::string text;
  for (int line = 1; std::getline(in, text); ++line) {
    if (text.empty() || text.front() == '#') continue;
    const std::vector<std::string> cells = split_csv_line(text);
    digest.add(text.size());
    for (const char c : text) digest.add(static_cast<unsigned char>(c));
    if (table.names.empty()) {
      table.names = cells;
      table.columns.resize(cells.size());
    } else {
      add_row(table, cells, line);
    }
  }
  if (table.columns.empty() || table.num_rows() == 0) fail(file, 0, "holds no row");
  table.hash = digest.value();
  return table;
}

RangeTimes::RangeTimes(const NumberTable& table,
                       const std::string& group,
                       const std::string& from,
                       const std::string& to,
                       const std::string& time)
    : file_(table.file) {
  const auto whole = [&](const std::string& name, std::size_t row) {
    const double value = table.column(name)[row];
    if (!(value < 1e15) || value != static_cast<double>(static_cast<std::int64_t>(value)))
      fail(file_, 0, name + " holds " + format_number(value) + ", which is no whole number");
    return static_cast<std::int64_t>(value);
  };
  for (std::size_t i = 0; i < table.num_rows(); ++i)
    rows_.push_back({whole(group, i), whole(from, i), whole(to, i), table.column(time)[i]});
  std::sort(rows_.begin(), rows_.end(),
            [](const Row& a, const Row& b) { return std::tie(a.group, a.from) < std::tie(b.group, b.from); });
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const Row& row = rows_[i];
    const bool overlaps = i > 0 && rows_[i - 1].group == row.group && rows_[i - 1].to >= row.from;
    if (row.to < row.from || overlaps) {
      fail(file_, 0,
           group + " " + std::to_string(row.group) + ": the range from " + std::to_string(row.from) +
               " ends before it begins, or overlaps the one before");
    }
  }
}

double RangeTimes::at(std::int64_t group, std::int64_t value) const {
  const auto after = std::upper_bound(
      rows_.begin(), rows_.end(), std::tie(group, value),
      [](const auto& wanted, const Row& row) { return wanted < std::tie(row.group, row.from); });
  CHECK_INVARIANT(after != rows_.begin(), file_, group, value);
  const Row& row = *(after - 1);
  CHECK_INVARIANT(row.group == group, file_, group, value);
  CHECK_INVARIANT(value <= row.to, file_, group, value);
  return row.time;
}

}  // namespace servetwin
