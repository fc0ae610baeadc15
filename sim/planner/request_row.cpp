// Walks two runs side by side in the order of their requests' keys.
#include "sim/planner/request_row.h"

#include <algorithm>

#include "engine/base/text.h"

namespace servetwin {
namespace {

// Calls `both(i, j)` for equal keys, `alone(row, which)` for others; ends when one of them returns true.
template <class Both, class Alone>
void walk(const RunRows& a, const RunRows& b, Both both, Alone alone) {
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.rows.size() || j < b.rows.size()) {
    const bool only_a = j == b.rows.size() || (i < a.rows.size() && a.rows[i].key() < b.rows[j].key());
    const bool only_b = !only_a && (i == a.rows.size() || b.rows[j].key() < a.rows[i].key());
    if (only_a || only_b) {
      if (alone(only_a ? a.rows[i] : b.rows[j], only_a)) return;
    } else if (both(i, j)) {
      return;
    }
    i += only_b ? 0 : 1;
    j += only_a ? 0 : 1;
  }
}

std::string class_name(const RunRows& run, const RequestRow& row) {
  const std::size_t index = raw(row.traffic_class);
  return index < run.classes.size() ? run.classes[index] : "-";
}

bool comes_by_itself(const RunRows& run, const RequestRow& row) {
  return !run.closed_loop && (row.session == kNoSession || row.turn == 0);
}

std::string seconds(Time t) { return format_number(to_seconds(t)) + " s"; }

class Comparer {
 public:
  explicit Comparer(RequestId request) : request_(request) {}

  template <class T>
  void compare(const char* field, const T& a, const T& b) {
    if (!found_ && a != b) found_ = RowMismatch{request_, field, text(a), text(b)};
  }
  const std::optional<RowMismatch>& found() const { return found_; }

 private:
  static std::string text(Time t) { return seconds(t); }
  static std::string text(bool b) { return b ? "yes" : "no"; }
  static std::string text(Tokens t) { return format_number(t.value); }
  static std::string text(TenantId t) { return format_number(std::int64_t{raw(t)}); }
  static const std::string& text(const std::string& t) { return t; }

  RequestId request_;
  std::optional<RowMismatch> found_;
};

}  // namespace

std::optional<RowMismatch> first_mismatch(const RunRows& a, const RunRows& b) {
  std::optional<RowMismatch> found;
  const auto both = [&](std::size_t i, std::size_t j) {
    const RequestRow& x = a.rows[i];
    const RequestRow& y = b.rows[j];
    Comparer fields(x.id);
    if (comes_by_itself(a, x) && comes_by_itself(b, y)) {
      fields.compare("arrival", x.arrival, y.arrival);
      fields.compare("measured", x.measured, y.measured);
    }
    fields.compare("class", class_name(a, x), class_name(b, y));
    fields.compare("tenant", x.tenant, y.tenant);
    fields.compare("prompt_tokens", x.prompt, y.prompt);
    fields.compare("max_tokens", x.max_tokens, y.max_tokens);
    if (x.finished() && y.finished()) fields.compare("output_tokens", x.outputs, y.outputs);
    found = fields.found();
    return found.has_value();
  };
  const auto alone = [&](const RequestRow& row, bool is_a) {
    if (!comes_by_itself(is_a ? a : b, row)) return false;
    found =
        RowMismatch{row.id, "arrival", is_a ? seconds(row.arrival) : "-", is_a ? "-" : seconds(row.arrival)};
    return true;
  };
  walk(a, b, both, alone);
  return found;
}

RowPairs finished_in_both(const RunRows& a, const RunRows& b) {
  RowPairs pairs;
  const auto both = [&](std::size_t i, std::size_t j) {
    const RequestRow& x = a.rows[i];
    const RequestRow& y = b.rows[j];
    if (x.measured && y.measured && x.finished() && y.finished()) pairs.emplace_back(i, j);
    return false;
  };
  walk(a, b, both, [](const RequestRow&, bool) { return false; });
  return pairs;
}

}  // namespace servetwin
