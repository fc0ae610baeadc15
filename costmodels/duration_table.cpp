// Reads durations strictly: a step priced by a misread line would be a wrong result that looks right.
#include "costmodels/duration_table.h"

#include <fstream>

#include "engine/base/error.h"
#include "engine/base/params.h"
#include "engine/base/text.h"
#include "engine/base/unit_text.h"

namespace servetwin {
namespace {

class TableReader {
 public:
  explicit TableReader(const std::string& file) : file_(file) {}

  DurationTable read() {
    std::ifstream in(file_);
    if (!in)
      fail("cannot be read", "spec.cost.durations names a CSV file, relative to the scenario's folder");
    std::string text;
    bool has_header = false;
    for (line_ = 1; std::getline(in, text); ++line_) {
      if (text.rfind("# evidence: measured", 0) == 0) table_.evidence = Evidence::kMeasured;
      if (text.empty() || text.front() == '#') continue;
      const auto cells = split_csv_line(text);
      if (cells.size() != 2) fail("has " + std::to_string(cells.size()) + " cells, not 2", kForm);
      if (has_header) {
        add_row(cells[0], cells[1]);
      } else {
        read_header(cells[0], cells[1]);
      }
      has_header = true;
    }
    line_ = 0;
    if (table_.rows.empty() && !table_.otherwise) fail("holds no duration", kForm);
    return table_;
  }

 private:
  static constexpr const char* kForm = "step,duration_us or request,duration_us; a row * serves all others";

  void read_header(const std::string& key, const std::string& unit) {
    const bool known = (key == "step" || key == "request") && unit == "duration_us";
    if (!known) fail("has the header " + key + "," + unit, kForm);
    table_.by_request = key == "request";
  }

  void add_row(const std::string& key, const std::string& microseconds) {
    const auto duration = parse_duration(microseconds + "us");
    if (!duration) fail("\"" + microseconds + "\": " + duration.message, duration.remedy);
    if (*duration.value < Duration::zero()) fail("\"" + microseconds + "\" is negative", "");
    if (key == "*") {
      if (table_.otherwise) fail("holds a second row *", "");
      table_.otherwise = *duration.value;
      return;
    }
    const auto number = parse_integer(key);
    if (!number) fail("\"" + key + "\": " + number.message, kForm);
    if (*number.value < 0) fail("\"" + key + "\" is negative", "");
    const bool is_new =
        table_.rows.emplace(static_cast<std::uint64_t>(*number.value), *duration.value).second;
    if (!is_new) fail("holds " + key + " twice", "");
  }

  [[noreturn]] void fail(const std::string& message, const std::string& remedy) const {
    throw ConfigError(Problem{kCodeBadValue, {file_, line_, 0}, "", message, remedy});
  }

  std::string file_;
  int line_ = 0;
  DurationTable table_;
};

}  // namespace

DurationTable read_durations(const std::string& file) { return TableReader(file).read(); }

}  // namespace servetwin
