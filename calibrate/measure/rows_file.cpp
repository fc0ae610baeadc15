// Every line holds the whole truth about one row: what ran, where, how long.
#include "calibrate/measure/rows_file.h"

#include <cmath>
#include <filesystem>
#include <map>
#include <numeric>
#include <sstream>
#include <utility>

#include "calibrate/fit/nnls.h"
#include "engine/base/error.h"
#include "engine/base/params.h"
#include "engine/base/text.h"
#include "engine/base/unit_text.h"

namespace servetwin {
namespace {

constexpr const char* kHeader =
    "number,tokens,sequences,decode_sequences,decode_context,max_context,prefill_sequences,prefill_tokens,"
    "prefill_q_context,prefill_q_squared,sampled_rows,repeats,outliers,median_ns,reference_ns,spread,"
    "device,cpu,kernels,build,threads,model,shape,dtype,kv_dtype,date";
constexpr std::size_t kColumns = 26;
constexpr std::size_t kSubjectAt = 16;

// The integers of a row, in the header's order.
template <class Row, class Visit>
void for_integers(Row& row, const Visit& visit) {
  visit(row.number);
  auto& s = row.shape;
  for (auto* value :
       {&s.tokens, &s.sequences, &s.decode_sequences, &s.decode_context, &s.max_context, &s.prefill_sequences,
        &s.prefill_tokens, &s.prefill_q_context, &s.prefill_q_squared, &s.sampled_rows}) {
    visit(*value);
  }
  visit(row.repeats);
  visit(row.outliers);
  visit(row.median_ns);
  visit(row.reference_ns);
}

// The lines that have an end. What comes behind the last one is cut off the file.
std::vector<std::string> whole_lines(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  std::string all = text.str();
  const std::size_t end = all.rfind('\n');
  const std::size_t kept = end == std::string::npos ? 0 : end + 1;
  if (kept < all.size()) std::filesystem::resize_file(path, kept);
  all.resize(kept);
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < all.size(); at = all.find('\n', at) + 1)
    lines.push_back(all.substr(at, all.find('\n', at) - at));
  return lines;
}

// To their references.
std::map<std::int64_t, std::vector<double>> ratios_by_step(const std::vector<StepRowTimes>& rows) {
  std::map<std::int64_t, std::vector<double>> by_step;
  for (const StepRowTimes& row : rows) {
    by_step[step_of_row(row.number)].push_back(static_cast<double>(row.median_ns) /
                                               static_cast<double>(row.reference_ns));
  }
  return by_step;
}

}  // namespace

std::int64_t step_of_row(std::int64_t number) { return number / (2 * kSweep) * kSweep + number % kSweep; }

std::vector<MeasuredStep> merged_steps(const std::vector<StepRowTimes>& rows) {
  std::map<std::int64_t, StepShape> shapes;
  double references = 0;
  for (const StepRowTimes& row : rows) {
    references += static_cast<double>(row.reference_ns);
    shapes[step_of_row(row.number)] = row.shape;
  }
  std::vector<MeasuredStep> steps;
  for (const auto& [step, ratios] : ratios_by_step(rows)) {
    const double sum = std::accumulate(ratios.begin(), ratios.end(), 0.0);
    const double mean = sum / static_cast<double>(ratios.size());
    steps.push_back({shapes[step], mean * references / static_cast<double>(rows.size())});
  }
  return steps;
}

double repeat_difference(const std::vector<StepRowTimes>& rows) {
  std::vector<double> differences;
  for (const auto& [step, ratios] : ratios_by_step(rows)) {
    if (ratios.size() < 2) continue;
    differences.push_back(2 * std::abs(ratios[0] - ratios[1]) / (ratios[0] + ratios[1]));
  }
  return differences.empty() ? 0 : quantile(differences, 0.5);
}

RowsFile::RowsFile(std::string path,
                   const ProfileSubject& subject,
                   const StepSpace& space,
                   std::uint64_t seed)
    : path_(std::move(path)),
      subject_{
          subject.device, subject.cpu,   subject.kernels, subject.build,   std::to_string(subject.threads),
          subject.model,  subject.shape, subject.dtype,   subject.kv_dtype},
      date_(subject.date) {
  std::error_code ignored;
  const bool exists = std::filesystem::exists(path_, ignored);
  if (exists) read(space, seed);
  out_.open(path_, std::ios::app | std::ios::binary);
  if (!out_) throw IoError(path_ + ": cannot be written");
  if (rows_.empty() && (!exists || std::filesystem::file_size(path_, ignored) == 0)) {
    out_ << kHeader << '\n';
  }
}

void RowsFile::fail(int line, const std::string& message) const {
  throw ConfigError(Problem{kCodeInconsistent,
                            {path_, line, 0},
                            "",
                            message,
                            "name another file with --rows, or remove this one to begin anew"});
}

void RowsFile::read(const StepSpace& space, std::uint64_t seed) {
  int number = 0;
  for (const std::string& line : whole_lines(path_)) {
    ++number;
    if (number == 1) {
      if (line != kHeader) fail(number, "is no file of measured rows");
      continue;
    }
    const std::vector<std::string> cells = split_csv_line(line);
    if (cells.size() != kColumns) fail(number, "has " + std::to_string(cells.size()) + " cells");
    StepRowTimes row;
    std::size_t at = 0;
    for_integers(row, [&](std::int64_t& value) {
      const auto parsed = parse_integer(cells[at++]);
      if (!parsed) fail(number, '"' + cells[at - 1] + "\": " + parsed.message);
      value = *parsed.value;
    });
    const auto spread = parse_decimal(cells[at]);
    if (!spread) fail(number, '"' + cells[at] + "\": " + spread.message);
    row.spread = *spread.value;
    for (std::size_t i = 0; i < subject_.size(); ++i) {
      const std::string& cell = cells[kSubjectAt + i];
      if (cell != subject_[i]) fail(number, "was measured on \"" + cell + "\", not \"" + subject_[i] + '"');
    }
    const bool follows = row.number == static_cast<std::int64_t>(rows_.size()) && row.median_ns > 0 &&
                         row.reference_ns > 0 &&
                         row.shape == shape_of(planned_step(space, seed, step_of_row(row.number)));
    if (!follows) fail(number, "is not the row that these limits and this seed have here");
    rows_.push_back(row);
  }
}

void RowsFile::append(const StepRowTimes& row) {
  std::string line;
  for_integers(row, [&line](std::int64_t value) { line += std::to_string(value) + ','; });
  line += format_number(row.spread);
  for (const std::string& text : subject_) line += ',' + csv_field(text);
  out_ << line << ',' << date_ << '\n' << std::flush;
  if (!out_) throw IoError(path_ + ": cannot be written");
  rows_.push_back(row);
}

}  // namespace servetwin
