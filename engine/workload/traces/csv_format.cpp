// The three CSV layouts: one reader, three tables of columns.
#include <algorithm>
#include <charconv>

#include "engine/base/digest.h"
#include "engine/base/text.h"
#include "engine/workload/traces/timestamp.h"
#include "engine/workload/traces/trace_error.h"
#include "engine/workload/traces/trace_format.h"

namespace servetwin {
namespace {

enum class Field { kTime, kInput, kOutput, kClass, kPriority, kTenant, kAdapter, kSession, kIgnored };
enum class TimeText { kSeconds, kMilliseconds, kMicroseconds, kNanoseconds, kIso };
enum class ZeroOutput { kBad, kFailedThere };

struct Column {
  const char* name;
  Field field;
  TimeText time = TimeText::kSeconds;
};

struct Layout {
  TraceFormatKind kind;
  ZeroOutput zero_output;
  std::vector<Column> columns;
};

const std::vector<Layout>& layouts() {
  static const std::vector<Layout> kLayouts{{TraceFormatKind::kServetwinCsv,
                                             ZeroOutput::kBad,
                                             {{"arrival_s", Field::kTime, TimeText::kSeconds},
                                              {"arrival_ms", Field::kTime, TimeText::kMilliseconds},
                                              {"arrival_us", Field::kTime, TimeText::kMicroseconds},
                                              {"arrival_ns", Field::kTime, TimeText::kNanoseconds},
                                              {"input_tokens", Field::kInput},
                                              {"output_tokens", Field::kOutput},
                                              {"class", Field::kClass},
                                              {"priority", Field::kPriority},
                                              {"tenant", Field::kTenant},
                                              {"adapter", Field::kAdapter},
                                              {"session", Field::kSession}}},
                                            {TraceFormatKind::kAzureCsv,
                                             ZeroOutput::kBad,
                                             {{"TIMESTAMP", Field::kTime, TimeText::kIso},
                                              {"ContextTokens", Field::kInput},
                                              {"GeneratedTokens", Field::kOutput}}},
                                            {TraceFormatKind::kBurstGptCsv,
                                             ZeroOutput::kFailedThere,
                                             {{"Timestamp", Field::kTime, TimeText::kSeconds},
                                              {"Session ID", Field::kSession},
                                              {"Elapsed time", Field::kIgnored},
                                              {"Model", Field::kIgnored},
                                              {"Request tokens", Field::kInput},
                                              {"Response tokens", Field::kOutput},
                                              {"Total tokens", Field::kIgnored},
                                              {"Log Type", Field::kIgnored}}}};
  return kLayouts;
}

const Layout& layout_of(TraceFormatKind kind) {
  return *std::find_if(layouts().begin(), layouts().end(), [&](const Layout& l) { return l.kind == kind; });
}

const Column* find_column(const Layout& layout, std::string_view name) {
  const auto found = std::find_if(layout.columns.begin(), layout.columns.end(),
                                  [&](const Column& c) { return name == c.name; });
  return found == layout.columns.end() ? nullptr : &*found;
}

// Quotes are refused before, so every comma separates.
void split_fields(std::string_view line, std::vector<std::string_view>& fields) {
  fields.clear();
  while (true) {
    const std::size_t comma = line.find(',');
    fields.push_back(line.substr(0, comma));
    if (comma == std::string_view::npos) return;
    line.remove_prefix(comma + 1);
  }
}

// The names of a header, without what a trailing comma adds.
std::vector<std::string_view> header_names(std::string_view header) {
  std::vector<std::string_view> names;
  split_fields(header, names);
  if (names.size() > 1 && names.back().empty()) names.pop_back();
  return names;
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

int unit_digits(TimeText time) {
  switch (time) {
    case TimeText::kMilliseconds:
      return 6;
    case TimeText::kMicroseconds:
      return 3;
    case TimeText::kNanoseconds:
      return 0;
    default:
      return 9;
  }
}

// Numbers name themselves; other text becomes a 31-bit digest with the top bit set.
SessionId session_of(std::string_view text) {
  const auto number = whole_number(text);
  if (number && *number >= 0 && *number < (std::int64_t{1} << 31)) {
    return SessionId{static_cast<std::uint32_t>(*number)};
  }
  Digest digest;
  for (const char c : text) digest.add(static_cast<unsigned char>(c));
  const auto low = static_cast<std::uint32_t>(digest.value() & 0x7ffffffeU);
  return SessionId{0x80000000U | low};
}

class CsvFormat final : public TraceFormat {
 public:
  CsvFormat(const Layout& layout, std::vector<Column> columns)
      : layout_(layout), columns_(std::move(columns)) {}

  RowOutcome parse(std::string_view line, TraceRow& row) override {
    reset(row);
    if (line.find('"') != std::string_view::npos) {
      return bad_row("quoted fields are not read", "write the numbers without quotes");
    }
    split_fields(line, fields_);
    if (fields_.size() == columns_.size() + 1 && fields_.back().empty())
      fields_.pop_back();  // a trailing comma
    if (fields_.size() != columns_.size()) {
      return bad_row(
          std::to_string(fields_.size()) + " fields where the header has " + std::to_string(columns_.size()),
          "give one value for each column, separated by commas");
    }
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      RowOutcome outcome = set(columns_[i], fields_[i], row);
      if (outcome.verdict != RowVerdict::kGood) return outcome;
    }
    return check_counts(row);
  }

  std::string time_unit() const override {
    for (const Column& column : columns_) {
      if (column.field != Field::kTime) continue;
      switch (column.time) {
        case TimeText::kSeconds:
          return "seconds";
        case TimeText::kMilliseconds:
          return "milliseconds";
        case TimeText::kMicroseconds:
          return "microseconds";
        case TimeText::kNanoseconds:
          return "nanoseconds";
        case TimeText::kIso:
          return zone_ && *zone_ == ZoneText::kGiven ? "dates with zone" : "dates without zone";
      }
    }
    return "?";
  }

 private:
  static void reset(TraceRow& row) {
    row.traffic_class.clear();
    row.priority.reset();
    row.tenant.reset();
    row.adapter.reset();
    row.session = kNoSession;
    row.hashes.clear();
  }

  RowOutcome set(const Column& column, std::string_view text, TraceRow& row) {
    switch (column.field) {
      case Field::kTime:
        return set_time(column, text, row);
      case Field::kInput:
        return set_count(column, text, row.input);
      case Field::kOutput:
        return set_count(column, text, row.output);
      case Field::kIgnored:
        return {};
      default:
        return text.empty() ? RowOutcome{} : set_optional(column, text, row);
    }
  }

  RowOutcome set_time(const Column& column, std::string_view text, TraceRow& row) {
    if (column.time != TimeText::kIso) {
      const auto ns = parse_decimal_ns(text, unit_digits(column.time));
      if (!ns) return not_read(column, text, "a time not below zero, such as 12.345");
      row.time_ns = *ns;
      return {};
    }
    const auto iso = parse_iso_time(text);
    if (!iso) return not_read(column, text, "a date such as 2023-11-16 18:15:46.6805900");
    if (zone_.value_or(iso->zone) != iso->zone) {
      return bad_row("some dates have a time zone and some have none", "give all of them one, or none");
    }
    zone_ = iso->zone;
    row.time_ns = iso->ns;
    return {};
  }

  static RowOutcome set_count(const Column& column, std::string_view text, Tokens& count) {
    const auto value = whole_number(text);
    if (!value || *value < 0 || *value > kMaxTraceTokens) {
      return not_read(column, text, "a whole number of tokens up to 100000000");
    }
    count = Tokens{*value};
    return {};
  }

  static RowOutcome set_optional(const Column& column, std::string_view text, TraceRow& row) {
    if (column.field == Field::kClass) {
      row.traffic_class = text;
      return {};
    }
    if (column.field == Field::kSession) {
      row.session = session_of(text);
      return {};
    }
    const auto value = whole_number(text);
    if (column.field == Field::kPriority) {
      if (!value || *value < -1'000'000 || *value > 1'000'000)
        return not_read(column, text, "a whole number");
      row.priority = static_cast<std::int32_t>(*value);
      return {};
    }
    if (!value || *value < 0 || *value > 65'535)
      return not_read(column, text, "a whole number from 0 to 65535");
    if (column.field == Field::kTenant) row.tenant = TenantId{static_cast<std::uint16_t>(*value)};
    if (column.field == Field::kAdapter) row.adapter = AdapterId{static_cast<std::uint16_t>(*value)};
    return {};
  }

  RowOutcome check_counts(const TraceRow& row) const {
    if (row.output == Tokens{} && layout_.zero_output == ZeroOutput::kFailedThere) {
      return {RowVerdict::kFailedThere, "0 response tokens", ""};
    }
    if (row.input == Tokens{}) return bad_row("the input has 0 tokens", "a request has at least one");
    if (row.output == Tokens{}) return bad_row("the output has 0 tokens", "a request has at least one");
    return {};
  }

  static RowOutcome not_read(const Column& column, std::string_view text, const std::string& wanted) {
    return bad_row(std::string(column.name) + " is \"" + std::string(text.substr(0, 40)) + "\"",
                   "write " + wanted);
  }

  const Layout& layout_;
  std::vector<Column> columns_;  // in the order of the header
  std::vector<std::string_view> fields_;
  std::optional<ZoneText> zone_;
};

std::vector<std::string> names_of(const Layout& layout) {
  std::vector<std::string> names;
  for (const Column& column : layout.columns) names.emplace_back(column.name);
  return names;
}

bool has_field(const std::vector<Column>& columns, Field field) {
  return std::any_of(columns.begin(), columns.end(), [&](const Column& c) { return c.field == field; });
}

}  // namespace

TraceFormatKind csv_kind_of(std::string_view header) {
  const std::vector<std::string_view> names = header_names(header);
  for (const Layout& layout : layouts()) {
    for (const std::string_view name : names) {
      const Column* column = find_column(layout, name);
      if (column != nullptr && column->field == Field::kTime) return layout.kind;
    }
  }
  return TraceFormatKind::kAuto;
}

std::unique_ptr<TraceFormat> make_csv_format(TraceFormatKind kind,
                                             std::string_view header,
                                             const std::string& file,
                                             std::int64_t line) {
  const Layout& layout = layout_of(kind);
  const std::vector<std::string_view> names = header_names(header);
  std::vector<Column> columns;
  const std::string known = "known columns: " + join(names_of(layout), ", ");
  for (const std::string_view name : names) {
    const Column* column = find_column(layout, name);
    if (column == nullptr) {
      throw trace_error(kCodeTraceFormat, file, line,
                        "unknown column \"" + std::string(name.substr(0, 40)) + "\"", known);
    }
    const bool twice = column->field == Field::kIgnored ? std::count(names.begin(), names.end(), name) > 1
                                                        : has_field(columns, column->field);
    if (twice) throw trace_error(kCodeTraceFormat, file, line, std::string(name) + " is given twice", known);
    columns.push_back(*column);
  }
  for (const Field field : {Field::kTime, Field::kInput, Field::kOutput}) {
    if (has_field(columns, field)) continue;
    throw trace_error(kCodeTraceFormat, file, line,
                      "a column is missing: the header needs a time, the input and the output tokens", known);
  }
  return std::make_unique<CsvFormat>(layout, std::move(columns));
}

}  // namespace servetwin
