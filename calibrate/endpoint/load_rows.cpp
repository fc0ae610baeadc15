// Every line says of which server it is, so that rows of two never meet.
#include "calibrate/endpoint/load_rows.h"

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/text.h"
#include "engine/base/unit_text.h"

namespace servetwin {
namespace {

constexpr const char* kLoadHeader =
    "sweep,point,phase,requests,context,prompt,cached,steps,ns,usage,low_tokens,high_tokens,url,server,"
    "model,date";
constexpr std::size_t kLoadColumns = 16;
constexpr std::size_t kUrlAt = 12;

// Cells of numbers, in the header's order but for the phase.
template <class Row, class Visit>
void for_numbers(Row& row, const Visit& visit) {
  visit(row.sweep);
  visit(row.point);
  visit(row.requests);
  visit(row.context);
  visit(row.prompt);
  visit(row.cached);
  visit(row.steps);
  visit(row.ns);
  visit(row.usage);
  visit(row.low_tokens);
  visit(row.high_tokens);
}

std::string text_of_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace

LoadRowsFile::LoadRowsFile(std::string path, LoadSubject subject, std::string date)
    : path_(std::move(path)), subject_(std::move(subject)), date_(std::move(date)) {
  std::error_code ignored;
  if (std::filesystem::exists(path_, ignored)) read();
  out_.open(path_, std::ios::app | std::ios::binary);
  if (!out_) throw IoError(path_ + ": cannot be written");
  if (std::filesystem::file_size(path_, ignored) == 0) out_ << kLoadHeader << '\n' << std::flush;
}

bool LoadRowsFile::has(std::int64_t sweep, std::int64_t point) const {
  return std::any_of(rows_.begin(), rows_.end(),
                     [&](const LoadRow& row) { return row.sweep == sweep && row.point == point; });
}

void LoadRowsFile::fail(int line, const std::string& message) const {
  throw ConfigError(Problem{"CAL103",
                            {path_, line, 0},
                            "",
                            message,
                            "name another file with --rows, or remove this one to begin anew"});
}

void LoadRowsFile::read() {
  const std::string text = text_of_file(path_);
  const std::size_t end = text.rfind('\n');
  const std::size_t kept = end == std::string::npos ? 0 : end + 1;
  if (kept < text.size()) std::filesystem::resize_file(path_, kept);
  int number = 0;
  for (std::size_t at = 0; at < kept; at = text.find('\n', at) + 1) {
    const std::string line = text.substr(at, text.find('\n', at) - at);
    if (++number > 1) {
      rows_.push_back(row_of(split_csv_line(line), number));
    } else if (line != kLoadHeader) {
      fail(number, "is no file of rows that an endpoint was measured with");
    }
  }
}

LoadRow LoadRowsFile::row_of(const std::vector<std::string>& cells, int line) const {
  if (cells.size() != kLoadColumns) fail(line, "has " + std::to_string(cells.size()) + " cells");
  LoadRow row;
  bool known = false;
  for (const LoadPhase phase :
       {LoadPhase::kPrompt, LoadPhase::kDecode, LoadPhase::kMixed, LoadPhase::kCapacity}) {
    if (cells[2] != to_string(phase)) continue;
    row.phase = phase;
    known = true;
  }
  if (!known) fail(line, "has no phase \"" + cells[2] + '"');
  std::size_t at = 0;
  for_numbers(row, [&](auto& value) {
    if (at == 2) ++at;
    const std::string& cell = cells[at++];
    const auto parsed = parse_decimal(cell);
    if (!parsed || *parsed.value < 0 || *parsed.value > 1e15) fail(line, '"' + cell + "\" is no such number");
    value = static_cast<std::decay_t<decltype(value)>>(*parsed.value);
  });
  const std::vector<std::string> here{subject_.url, subject_.server, subject_.model};
  for (std::size_t i = 0; i < here.size(); ++i) {
    if (cells[kUrlAt + i] != here[i])
      fail(line, "was measured on \"" + cells[kUrlAt + i] + "\", not \"" + here[i] + '"');
  }
  return row;
}

void LoadRowsFile::append(const LoadRow& row) {
  std::string line;
  int at = 0;
  for_numbers(row, [&](const auto& value) {
    if (at++ == 2) line += std::string(to_string(row.phase)) + ',';
    line += format_number(value) + ',';
  });
  out_ << line << csv_field(subject_.url) << ',' << csv_field(subject_.server) << ','
       << csv_field(subject_.model) << ',' << date_ << '\n'
       << std::flush;
  if (!out_) throw IoError(path_ + ": cannot be written");
  rows_.push_back(row);
}

}  // namespace servetwin
