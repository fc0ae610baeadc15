// Mooncake's JSON lines: time in milliseconds, token counts, and one hash id for each 512 tokens of the
// prompt.
#include <algorithm>
#include <simdjson.h>

#include "engine/workload/traces/line_reader.h"
#include "engine/workload/traces/trace_format.h"

namespace servetwin {
namespace {

using simdjson::dom::element;

// Larger ids would reach into the streams that name private text.
constexpr std::uint64_t kMaxHash = (std::uint64_t{1} << 62) - 1;
constexpr std::uint64_t kMaxMilliseconds = (std::uint64_t{1} << 62) / 1'000'000;

// Null where it is not a whole number from 0 to `high`; numbers written as floats are refused, whatever their
// value.
std::optional<std::uint64_t> whole_number(const element& value, std::uint64_t high) {
  if (!value.is<std::uint64_t>()) return std::nullopt;
  const std::uint64_t number = value.get_uint64().value_unsafe();
  return number <= high ? std::optional<std::uint64_t>(number) : std::nullopt;
}

class MooncakeFormat final : public TraceFormat {
 public:
  explicit MooncakeFormat(Tokens hash_block) : hash_block_(hash_block) {}

  RowOutcome parse(std::string_view line, TraceRow& row) override {
    row.traffic_class.clear();
    row.priority.reset();
    row.tenant.reset();
    row.adapter.reset();
    row.session = kNoSession;
    row.hashes.clear();
    simdjson::dom::object object;
    const auto error = parser_.parse(line.data(), line.size()).get_object().get(object);
    if (error != simdjson::SUCCESS) {
      return bad_row(std::string("the line is no JSON object: ") + simdjson::error_message(error),
                     "one request is one line {\"timestamp\": …, \"input_length\": …, …}");
    }
    unsigned seen = 0;
    for (const auto& field : object) {
      RowOutcome outcome = set(field.key, field.value, row, seen);
      if (outcome.verdict != RowVerdict::kGood) return outcome;
    }
    return check(row, seen);
  }

  std::string time_unit() const override { return "milliseconds"; }

 private:
  static constexpr std::string_view kKeys[] = {"timestamp", "input_length", "output_length", "hash_ids"};

  static RowOutcome set(std::string_view key, const element& value, TraceRow& row, unsigned& seen) {
    const auto index = static_cast<std::size_t>(std::find(std::begin(kKeys), std::end(kKeys), key) - kKeys);
    if (index == std::size(kKeys)) {
      return bad_row("unknown key \"" + std::string(key.substr(0, 40)) + "\"",
                     "known are timestamp, input_length, output_length and hash_ids");
    }
    if ((seen & (1U << index)) != 0) return bad_row(std::string(key) + " is given twice", "leave one");
    seen |= 1U << index;
    if (index == 3) return set_hashes(value, row);
    const auto number =
        whole_number(value, index == 0 ? kMaxMilliseconds : static_cast<std::uint64_t>(kMaxTraceTokens));
    if (!number) {
      return bad_row(std::string(key) + " is no whole number in range",
                     index == 0 ? "write milliseconds as a whole number not below 0"
                                : "write a whole number of tokens from 1 to 100000000");
    }
    const auto count = static_cast<std::int64_t>(*number);
    if (index == 0) row.time_ns = count * 1'000'000;
    if (index == 1) row.input = Tokens{count};
    if (index == 2) row.output = Tokens{count};
    return {};
  }

  static RowOutcome set_hashes(const element& value, TraceRow& row) {
    simdjson::dom::array ids;
    if (value.get_array().get(ids) != simdjson::SUCCESS) {
      return bad_row("hash_ids is no list", "write one whole number for each started block of the prompt");
    }
    for (const element& id : ids) {
      const auto hash = whole_number(id, kMaxHash);
      if (!hash) {
        return bad_row("hash_ids[" + std::to_string(row.hashes.size()) + "] is no whole number in range",
                       "ids are whole numbers below 2^62, never written as floats");
      }
      row.hashes.push_back(*hash);
    }
    return {};
  }

  RowOutcome check(const TraceRow& row, unsigned seen) const {
    for (std::size_t i = 0; i < std::size(kKeys); ++i) {
      if ((seen & (1U << i)) == 0)
        return bad_row(std::string(kKeys[i]) + " is missing", "every row needs it");
    }
    if (row.input == Tokens{}) return bad_row("the input has 0 tokens", "a request has at least one");
    if (row.output == Tokens{}) return bad_row("the output has 0 tokens", "a request has at least one");
    std::string problem = hash_count_problem(row.input, hash_block_, row.hashes.size());
    if (!problem.empty())
      return bad_row(std::move(problem), "give one id for each started block of the prompt");
    return {};
  }

  Tokens hash_block_;
  simdjson::dom::parser parser_{LineReader::kMaxLine};
};

}  // namespace

std::unique_ptr<TraceFormat> make_mooncake_format(Tokens hash_block) {
  return std::make_unique<MooncakeFormat>(hash_block);
}

}  // namespace servetwin
